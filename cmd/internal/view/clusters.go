package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
)

// ClusterResult is how a command went for one of several clusters.
type ClusterResult struct {
	Cluster  string          `json:"cluster"`
	Spec     string          `json:"spec"` // path
	ExitCode int             `json:"exitCode"`
	Error    string          `json:"error,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"` // what the command answers for this one alone
	Text     string          `json:"-"`                // the same as it was written, when it is no JSON
}

// ClusterTable is how the answers of a command for several clusters become one table.
type ClusterTable struct {
	Reads  bool // the rows are made of the answers; else these are shown as they are
	Header []string
	Row    func(result json.RawMessage) []string
}

// Clusters writes the answer for several clusters: a table; as JSON
// {"schema":"v1","clusters":[...]}; as Markdown one after the other.
func (o Output) Clusters(t ClusterTable, results []ClusterResult) error {
	if o.Format == Markdown {
		_, err := io.WriteString(o.W, clustersMarkdown(results))
		return err
	}
	answer := struct {
		Schema   string          `json:"schema"`
		Clusters []ClusterResult `json:"clusters"`
	}{schema, orEmpty(results)}
	return o.write(answer, func() string { return o.clustersText(t, results) })
}

func clustersMarkdown(results []ClusterResult) string {
	var b strings.Builder
	for _, r := range results {
		if r.Text == "" {
			fmt.Fprintf(&b, "### Cluster %s: not planned\n\n> **Error:** %s\n", markdownText(r.Cluster), markdownText(r.Error))
		}
		b.WriteString(r.Text + "\n")
	}
	return b.String()
}

func (o Output) clustersText(t ClusterTable, results []ClusterResult) string {
	var rows [][]string
	var errors strings.Builder
	paint := palette(o.Color)
	for _, r := range results {
		row := []string{r.Cluster, r.Spec}
		if t.Row != nil && r.Result != nil {
			row = append(row, t.Row(r.Result)...)
		}
		for len(row) < len(t.Header)+2 {
			row = append(row, "-")
		}
		rows = append(rows, append(row, outcomeCell(r)))
		if r.Error != "" {
			errors.WriteString(paint.red("!") + " " + paint.bold(oneLine(r.Cluster)) + ": " + strings.Join(lines(r.Error), "\n  ") + "\n")
		}
	}
	text := o.table(append(append([]string{"CLUSTER", "SPEC"}, t.Header...), "OUTCOME"), rows)
	if errors.Len() > 0 {
		text += "\n" + errors.String()
	}
	return text
}

// outcomeCell is the exit code in a word.
func outcomeCell(r ClusterResult) string {
	switch r.ExitCode {
	case 0:
		return "ok"
	case 2:
		return "changes"
	}
	return fmt.Sprintf("error (%d)", r.ExitCode)
}

// PlanTable is the table of several plans.
func PlanTable() ClusterTable {
	return ClusterTable{Reads: true, Header: []string{"CHANGES"}, Row: func(result json.RawMessage) []string {
		var p struct{ Summary Summary }
		if json.Unmarshal(result, &p) != nil {
			return nil
		}
		if p.Summary.Total == 0 {
			return []string{"none"}
		}
		return []string{p.Summary.text()}
	}}
}

// StatusTable is the table of several clusters' status.
func StatusTable() ClusterTable {
	return ClusterTable{Reads: true, Header: []string{"KUBERNETES", "HOSTS", "NODES READY", "ETCD", "API", "PROBLEMS"}, Row: func(result json.RawMessage) []string {
		var s Status
		if json.Unmarshal(result, &s) != nil {
			return nil
		}
		return []string{
			s.KubernetesVersion,
			share(s.Hosts, func(h HostStatus) bool { return h.Reachable == "yes" }),
			share(s.Hosts, func(h HostStatus) bool { return h.Node == "Ready" }),
			share(s.Etcd, func(m EtcdMember) bool { return m.Healthy }),
			share(s.API, func(a APIServer) bool { return a.Readyz == "ok" }),
			fmt.Sprint(len(s.Problems)),
		}
	}}
}

// share is how many of all are good: 2/3.
func share[T any](list []T, good func(T) bool) string {
	n := 0
	for _, item := range list {
		if good(item) {
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(list))
}

// Labelled gives a writer whose lines say which cluster they are about: text begins with its name,
// JSON objects have the field cluster. Lines of several clusters, which share mu, never mix.
func Labelled(w io.Writer, mu *sync.Mutex, cluster string) io.Writer {
	name, _ := json.Marshal(cluster) // a string: cannot fail
	return &labelled{w: w, mu: mu, text: cluster + ": ", object: append(append([]byte(`{"cluster":`), name...), ',')}
}

type labelled struct {
	w      io.Writer
	mu     *sync.Mutex
	text   string
	object []byte

	rest []byte // of a line that is not whole yet
}

// Write writes the lines that are whole.
func (l *labelled) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.rest = rest
		out := append([]byte(l.text), line...)
		if object, is := bytes.CutPrefix(line, []byte("{")); is {
			out = append(bytes.Clone(l.object), object...)
		}
		if _, err := l.w.Write(append(out, '\n')); err != nil {
			return 0, err
		}
	}
}
