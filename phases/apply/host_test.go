package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases/plan"
	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
)

// batched counts the round trips of a fake host.
type batched struct {
	*hosttest.Fake
	puts [][]string // paths of each Put
}

func (b *batched) Put(ctx context.Context, files ...host.File) error {
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	b.puts = append(b.puts, paths)
	return b.Fake.Put(ctx, files...)
}

// operator is a fake host that answers the script's operations with ok, up to the line where stop
// says why not.
func operator(stop string, reason string) *batched {
	f := hosttest.NewFake("cp-1")
	f.Handle(func(_ context.Context, c host.Cmd) (host.Result, error) {
		in, err := io.ReadAll(c.Stdin)
		if err != nil {
			return host.Result{}, err
		}
		n := 0
		for line := range strings.Lines(string(in)) {
			n++
			if stop != "" && strings.HasPrefix(line, stop) {
				return host.Result{}, &host.ExitError{Host: "cp-1", Args: c.Args, Code: 1, Stderr: reason}
			}
			if c.Stdout != nil {
				fmt.Fprintf(c.Stdout, "ok\t%d\n", n)
			}
		}
		return host.Result{}, nil
	}, "sh")
	return &batched{Fake: f}
}

func file(path string) plan.Step {
	return step(resource.File{Host: "cp-1", Path: path, Mode: 0o600, Content: []byte(path)}, plan.Create)
}

func artifact(path, content string) plan.Step {
	return step(resource.Artifact{Host: "cp-1", Path: path, Mode: 0o755, SHA256: resource.Sum([]byte(content)), Size: int64(len(content)), Version: "v1",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}, plan.Create)
}

func unit(name string, verb plan.Verb) plan.Step {
	return step(resource.Unit{Host: "cp-1", Name: name, Inputs: []string{"x"}}, verb)
}

func step(r resource.Resource, verb plan.Verb) plan.Step {
	return plan.Step{Key: r.Key(), Verb: verb, Want: r}
}

// do applies steps and gives the names of those that were reported as over.
func do(t *testing.T, h host.Host, steps ...plan.Step) ([]string, error) {
	t.Helper()
	var over []string
	err := Host(t.Context(), h, steps, func(s plan.Step) { over = append(over, s.Key.Name) })
	return over, err
}

// operations are the lines of each script run.
func operations(b *batched) [][]string {
	var out [][]string
	for _, c := range b.Commands() {
		out = append(out, strings.Split(strings.TrimSuffix(string(c.Stdin), "\n"), "\n"))
	}
	return out
}

func TestStepsTakeAsFewRoundTripsAsTheirOrderAllows(t *testing.T) {
	b := operator("", "")
	over, err := do(t, b,
		step(resource.Dir{Host: "cp-1", Path: "/d", Mode: 0o700, Owner: "root:root"}, plan.Create),
		step(resource.Sysctl{Host: "cp-1", Name: "net.ipv4.ip_forward", Value: "1"}, plan.Update),
		file("/a"), file("/b"), file("/c"),
		step(resource.Link{Host: "cp-1", Path: "/l", Target: "/a"}, plan.Create),
		unit("one.service", plan.Start), unit("two.service", plan.Restart),
		file("/z"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/d", "net.ipv4.ip_forward", "/a", "/b", "/c", "/l", "one.service", "two.service", "/z"}; !slices.Equal(over, want) {
		t.Errorf("over: %v, want %v", over, want)
	}
	if want := [][]string{{"/a", "/b", "/c"}, {"/z"}}; fmt.Sprint(b.puts) != fmt.Sprint(want) {
		t.Errorf("puts %v, want %v", b.puts, want)
	}
	digest := unit("one.service", plan.Start).Want.Digest()
	want := [][]string{
		{"dir\t/d\t0700\troot:root", "sysctl\tnet.ipv4.ip_forward\t1"},
		{"link\t/l\t/a", "reload\tone.service two.service", "start\tone.service\t" + digest, "restart\ttwo.service\t" + digest},
	}
	if fmt.Sprint(operations(b)) != fmt.Sprint(want) {
		t.Errorf("operations %q, want %q", operations(b), want)
	}
	for _, c := range b.Commands() {
		if !c.Root {
			t.Error("an operation ran without root")
		}
	}
}

func TestSecretFilesArePutWithTheirModeAndOwner(t *testing.T) {
	b := operator("", "")
	if _, err := do(t, b, step(resource.File{Host: "cp-1", Path: "/k", Mode: 0o600, Content: []byte("k"), Secret: true}, plan.Create)); err != nil {
		t.Fatal(err)
	}
	if f, ok := b.File("/k"); !ok || f.Mode != 0o600 || f.Owner != "root:root" || string(f.Content) != "k" {
		t.Errorf("file %+v, %v", f, ok)
	}
}

func TestInstalledArtifactsAreRemembered(t *testing.T) {
	b := operator("", "")
	if _, err := do(t, b, artifact("/opt/x/v1/x", "bytes"), file("/f")); err != nil {
		t.Fatal(err)
	}
	want := "installed\t/opt/x/v1/x\t" + resource.Sum([]byte("bytes")) + "\topt-x-v1-x"
	if got := operations(b); len(got) != 1 || len(got[0]) != 1 || got[0][0] != want {
		t.Errorf("operations %q, want %q", got, want)
	}
}

func TestAnErrorNamesTheStepAndNothingAfterItIsTried(t *testing.T) {
	reason := "unit two.service did not start; its last lines:\nlisten tcp 192.0.2.11:2380: bind: address already in use\n"
	b := operator("start\ttwo", reason)
	over, err := do(t, b, unit("one.service", plan.Start), unit("two.service", plan.Start), unit("three.service", plan.Start), file("/z"))
	if err == nil || !strings.Contains(err.Error(), "start two.service") || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v does not name the step and its last lines", err)
	}
	if err != nil && strings.Contains(err.Error(), "while IFS=") {
		t.Error("the error shows the script")
	}
	if want := []string{"one.service"}; !slices.Equal(over, want) || len(b.puts) != 0 {
		t.Errorf("over %v, puts %v; want only the first unit", over, b.puts)
	}
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Code != 1 {
		t.Errorf("error %v is no exit error", err)
	}
}

// TestOutputOfCommandsIsNoFinishedStep: a program that an operation calls may print.
func TestOutputOfCommandsIsNoFinishedStep(t *testing.T) {
	f := hosttest.NewFake("cp-1")
	f.Handle(func(_ context.Context, c host.Cmd) (host.Result, error) {
		fmt.Fprint(c.Stdout, "Created symlink /etc/x.\nsomething else\nok\t1\n")
		return host.Result{}, &host.ExitError{Host: "cp-1", Args: c.Args, Code: 1, Stderr: "operation 2: set it"}
	}, "sh")
	over, err := do(t, f, step(resource.Swap{Host: "cp-1"}, plan.Update), step(resource.Module{Host: "cp-1", Name: "vxlan"}, plan.Create),
		step(resource.Sysctl{Host: "cp-1", Name: "a.b", Value: "1"}, plan.Update))
	if !slices.Equal(over, []string{"swap"}) || err == nil || !strings.Contains(err.Error(), "create kernel module vxlan") {
		t.Errorf("over %v, error %v; want the first step over and the second named", over, err)
	}
}

func TestAPutThatFailsNamesTheFileAndStops(t *testing.T) {
	b := operator("", "")
	b.CrashAfterPuts(1)
	over, err := do(t, b, file("/a"), file("/b"), unit("one.service", plan.Start))
	if err == nil || !strings.Contains(err.Error(), "put /a and 1 more") {
		t.Errorf("error %v", err)
	}
	if len(over) != 0 || len(b.Commands()) != 0 {
		t.Errorf("over %v, %d commands; want neither", over, len(b.Commands()))
	}
	var away *host.UnreachableError
	if !errors.As(err, &away) {
		t.Errorf("error %v hides that the host is away", err)
	}
}

func TestAnUnknownKindIsRefusedBeforeTheHostIsAsked(t *testing.T) {
	b := operator("", "")
	if _, err := do(t, b, step(resource.Node{Host: "cp-1"}, plan.Update)); err == nil || len(b.Commands()) != 0 {
		t.Errorf("error %v, %d commands", err, len(b.Commands()))
	}
}

func TestCancelledStepsAreNotTried(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := operator("", "")
	err := Host(ctx, b, []plan.Step{file("/a"), unit("one.service", plan.Start)}, func(plan.Step) {})
	if !errors.Is(err, context.Canceled) || len(b.Paths()) != 0 {
		t.Errorf("error %v, files %v", err, b.Paths())
	}
}

func TestRemoveNamesEverythingOwnedAndTellsWhatStayed(t *testing.T) {
	f := hosttest.NewFake("cp-1")
	f.Handle(hosttest.Print("left\t/var/lib/etcd/member\nnoise\nleft\tunit etcd.service runs\n"), "sh")
	left, err := Remove(t.Context(), f, "uid-1", []resource.Resource{
		resource.Unit{Host: "cp-1", Name: "etcd.service"}, resource.File{Host: "cp-1", Path: "/f"}, resource.Link{Host: "cp-1", Path: "/l"},
		resource.Sysctl{Host: "cp-1", Name: "a.b", Value: "1"},
	})
	if err != nil || !slices.Equal(left, []string{"/var/lib/etcd/member", "unit etcd.service runs"}) {
		t.Errorf("left %q, error %v", left, err)
	}
	if got, want := string(f.Commands()[0].Stdin), "unit\tetcd.service\npath\t/f\npath\t/l\n"; got != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
}
