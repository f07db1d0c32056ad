package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"clusterctl/cmd/internal/view"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/spec"
)

// clustersDir has specs a, b and c, and other files.
func clustersDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"c", "a", "b"} {
		write(name+".yaml", strings.Replace(string(spec.Example("local")), "name: dev", "name: "+name, 1))
	}
	write("values.yaml", "replicas: 1\n")
	write("README.md", "apiVersion: clusterctl/v1alpha1\n")
	return dir
}

func TestDirectoryStandsForItsSpecs(t *testing.T) {
	dir := clustersDir(t)
	got, err := specPaths([]string{dir})
	want := []string{filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml"), filepath.Join(dir, "c.yaml")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, args := range [][]string{{t.TempDir()}, {dir, filepath.Join(dir, "./b.yaml")}} {
		if _, err := specPaths(args); exitCode(t.Context(), err) != exitUsage {
			t.Errorf("%v: error %v, want wrong usage", args, err)
		}
	}
}

// several runs do for the clusters of a directory and gives what was written.
func several(t *testing.T, format view.Format, table view.ClusterTable, do work) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("CLUSTERCTL_CACHE", t.TempDir())
	var out, errOut bytes.Buffer
	o := &clusterOptions{ctx: t.Context(), streams: Streams{In: strings.NewReader(""), Out: &out, Err: &errOut}, log: slog.New(slog.DiscardHandler), parallel: 4, clusters: 2, format: format}
	err = o.each(t.Context(), []string{clustersDir(t)}, table, do)
	return out.String(), errOut.String(), err
}

func TestExitCodeOfSeveralClustersIsTheWorst(t *testing.T) {
	unreachable := &host.UnreachableError{Host: "h", Addr: "a", Err: errors.New("off")}
	for _, c := range []struct {
		of   map[string]error
		want int
	}{
		{nil, 0},
		{map[string]error{"b": ErrChanges}, 2},
		{map[string]error{"a": ErrChanges, "b": unreachable}, 4},
		{map[string]error{"a": unreachable, "b": errors.New("x"), "c": ErrChanges}, 1},
		{map[string]error{"a": errors.New("x"), "b": usagef("y")}, 3},
	} {
		_, _, err := several(t, view.Text, view.ClusterTable{}, func(_ context.Context, s *session) error { return c.of[s.spec.Metadata.Name] })
		if got := exitCode(t.Context(), err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.of, got, c.want)
		}
	}
}

func TestSeveralClustersAreBounded(t *testing.T) {
	var now, most atomic.Int32
	gate := make(chan struct{}, 1)
	_, _, err := several(t, view.Text, view.ClusterTable{}, func(context.Context, *session) error {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		select { // two meet here, the third is late
		case gate <- struct{}{}:
		case <-gate:
		}
		return nil
	})
	if err != nil || most.Load() > 2 {
		t.Errorf("%d clusters at the same time, %v", most.Load(), err)
	}
}

func TestAnswersOfSeveralClustersAreOneTable(t *testing.T) {
	plan := func(_ context.Context, s *session) error {
		if s.spec.Metadata.Name == "b" {
			return fmt.Errorf("b is broken")
		}
		p := view.Plan{Cluster: s.spec.Metadata.Name, Phases: []view.PhasePlan{{Name: "os", Hosts: []view.HostPlan{{Host: "h", Steps: []view.Step{{Verb: view.Create, Kind: "file", Title: "/x"}}}}}}}
		return view.NewOutput(s.streams.Out, s.format).Plan(p, false)
	}
	out, _, err := several(t, view.Text, view.PlanTable(), plan)
	for _, want := range []string{"CLUSTER  SPEC", "1 to create on 1 host", "ok", "error (1)", "! b: b is broken"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	if err == nil || err.Error() != "1 of 3 clusters did not go well" {
		t.Errorf("error %v", err)
	}

	out, _, _ = several(t, view.JSON, view.PlanTable(), plan)
	var answer struct {
		Schema   string
		Clusters []struct {
			Cluster, Spec, Error string
			ExitCode             int
			Result               struct{ Summary view.Summary }
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if answer.Schema != "v1" || len(answer.Clusters) != 3 || answer.Clusters[0].Result.Summary.Total != 1 || answer.Clusters[1].ExitCode != 1 || answer.Clusters[1].Error == "" {
		t.Errorf("answer %+v", answer)
	}

	out, _, _ = several(t, view.Markdown, view.PlanTable(), plan)
	if !strings.Contains(out, "### Cluster a: 1 to create") || !strings.Contains(out, "### Cluster b: not planned") {
		t.Errorf("Markdown:\n%s", out)
	}
}

func TestLinesOfSeveralClustersSayWhoseTheyAre(t *testing.T) {
	speak := func(_ context.Context, s *session) error {
		to, stop := s.progress()
		defer stop()
		to.Emit(eventNote("working"))
		return nil
	}
	_, errOut, err := several(t, view.JSON, view.ClusterTable{}, speak)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(errOut) {
		var l view.ProgressLine
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Schema != "v1" {
			t.Errorf("%v: %s", err, line)
		}
		seen[l.Cluster] = true
	}
	if len(seen) != 3 || seen[""] {
		t.Errorf("lines of %v", seen)
	}
	if _, errOut, _ = several(t, view.Text, view.ClusterTable{}, speak); !strings.Contains(errOut, "a: ") || !strings.Contains(errOut, "working") {
		t.Errorf("text lines:\n%s", errOut)
	}
}

func eventNote(text string) event.Event { return event.Event{Kind: event.Note, Text: text} }
