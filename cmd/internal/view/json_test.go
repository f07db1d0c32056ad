package view

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"clusterctl/e2e/golden"
	"clusterctl/provision/event"

	"github.com/google/go-cmp/cmp"
)

const jsonDoc = "../../../docs/json.md"

func readDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(jsonDoc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kinds is every kind of line.
var kinds = []event.Kind{event.PhaseStart, event.StepStart, event.StepEnd, event.Wait, event.PhaseEnd, event.Note, event.Warning, findingKind, errorKind}

// TestDocumentedLinesAreWhatIsWritten compares the example in docs/json.md with the real lines.
func TestDocumentedLinesAreWhatIsWritten(t *testing.T) {
	noon := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	bind := errors.New("exit code 1: bind: address in use")
	var b bytes.Buffer
	lines := jsonProgress{w: &b}
	for _, e := range []event.Event{
		{Kind: event.PhaseStart, Phase: "etcd", Text: "the members and their quorum", Total: 3},
		{Kind: event.StepStart, Phase: "etcd", Host: "cp-1", Text: "start etcd.service"},
		{Kind: event.StepEnd, Phase: "etcd", Host: "cp-1", Text: "start etcd.service", Err: bind},
		{Kind: event.Wait, Phase: "etcd", Host: "cp-2", Text: "etcd member healthy", Err: errors.New("connection refused")},
		{Kind: event.PhaseEnd, Phase: "etcd", Took: 1500 * time.Millisecond, Err: bind},
		{Kind: event.Note, Text: "run again to go on from here"},
		{Kind: event.Warning, Text: "the state directory was open to others"},
	} {
		e.Time = noon
		lines.event(e)
	}
	FindingLines(&b, []Finding{{Host: "cp-1", Check: "swap", Severity: "error", Message: "swap is on: /swapfile", Remedy: "set host.swap to allow"}})
	ErrorLine(&b, errors.New("cp-1 is locked by jo@desk"), "wait for it to end", 5)
	got := regexp.MustCompile(`"time":"[^"]*"`).ReplaceAllString(b.String(), `"time":"2026-03-01T09:00:00Z"`)
	_, example, _ := strings.Cut(readDoc(t), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	if d := cmp.Diff(example, got); d != "" {
		t.Errorf("%s is not what is written (-doc +written):\n%s", jsonDoc, d)
	}
	for _, kind := range kinds {
		if !strings.Contains(got, `"kind":"`+string(kind)+`"`) {
			t.Errorf("the example has no line of kind %s", kind)
		}
	}
}

// TestDocsNameEveryFieldAndKind keeps docs/json.md whole.
func TestDocsNameEveryFieldAndKind(t *testing.T) {
	doc := readDoc(t)
	var fields []string
	for _, v := range []any{ProgressLine{}, Plan{}, Summary{}, Status{}, Done{}, PhaseDone{}, Upgrade{}, Paused{}, BundleDiff{}, Locks{}, Version{}} {
		fields = append(fields, jsonFields(reflect.TypeOf(v))...)
	}
	for _, kind := range kinds {
		fields = append(fields, string(kind))
	}
	for _, name := range fields {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("%s does not name `%s`", jsonDoc, name)
		}
	}
}

// jsonFields lists the JSON names of a type's fields and of the types inside it.
func jsonFields(of reflect.Type) []string {
	switch of.Kind() {
	case reflect.Slice, reflect.Pointer:
		return jsonFields(of.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var out []string
	for i := range of.NumField() {
		f := of.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, name)
			out = append(out, jsonFields(f.Type)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestPlanAsMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := (Output{W: &b, Format: Markdown}).Plan(examplePlan(), false); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/plan.md", b.String())
	b.Reset()
	if err := (Output{W: &b, Format: Markdown}).Plan(Plan{Cluster: "dev"}, false); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/plan-empty.md", b.String())
}

func TestMarkdownOfAHugePlanFitsAComment(t *testing.T) {
	var steps []Step
	for i := range 3000 {
		steps = append(steps, Step{Create, "file", strings.Repeat("x", i%50), ""})
	}
	p := Plan{Cluster: "dev", Phases: []PhasePlan{{Name: "nodes", Hosts: []HostPlan{{"w", steps}}}}}
	got := Output{}.planMarkdown(p)
	if len(got) > markdownSize || !strings.Contains(got, "the rest does not fit") || !strings.HasSuffix(got, "```\n\n</details>\n") {
		t.Errorf("%d bytes, ends with %q", len(got), got[len(got)-200:])
	}
}

func TestMarkdownIsNoMarkupOfOthers(t *testing.T) {
	evil := "a|b<img src=x>```\n@all [x](y)"
	p := Plan{Cluster: evil, Notes: []string{evil}, Phases: []PhasePlan{{Name: evil, Hosts: []HostPlan{{evil, []Step{{Create, "file", evil, ""}}}}}}}
	got := Output{}.planMarkdown(p)
	head, details, _ := strings.Cut(got, "<details>")
	if left := regexp.MustCompile(`\\.`).ReplaceAllString(head, ""); strings.ContainsAny(left, "<`[(@") {
		t.Errorf("markup in\n%s", head)
	}
	if !strings.Contains(details, "````diff\n") || strings.Count(details, "````") != 2 {
		t.Errorf("the fence is not longer than what it holds:\n%s", details)
	}
}

func TestLocks(t *testing.T) {
	since := time.Date(2026, 3, 1, 10, 0, 0, 0, time.FixedZone("CET", 3600))
	goldens(t, "locks", func(o Output) error {
		return o.Locks(Locks{Cluster: "dev", Locks: []Lock{{Where: "host cp-1", Holder: "jo@desk", Process: 4711, Since: since, Command: "up dev.yaml"}}})
	}, "txt", "json")
	goldens(t, "locks-none", func(o Output) error { return o.Locks(Locks{Cluster: "dev"}) }, "txt", "json")
}
