package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clusterctl/provision/spec"

	"go.yaml.in/yaml/v3"
)

// The test binary plays the program in the pipelines' scripts: what reaches no host is done really,
// the rest is written down and ends with the code that the test wants.
const (
	playCalls = "CLUSTERCTL_TEST_CALLS"
	playCode  = "CLUSTERCTL_TEST_CODE"
)

func TestMain(m *testing.M) {
	calls := os.Getenv(playCalls)
	if calls == "" {
		os.Exit(m.Run())
	}
	os.Exit(play(calls, os.Args[1:]))
}

func play(calls string, args []string) int {
	f, err := os.OpenFile(calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 99
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(args, " ") + "\n"); err != nil {
		return 99
	}
	s := Streams{In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr}
	if args[0] == "spec" {
		return Execute(context.Background(), args, s)
	}
	// The command line is held against the real program's.
	root := newRootCommand(s)
	cmd, rest, err := root.Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 98
	}
	if args[0] == "up" {
		_ = os.MkdirAll("clusters/.clusterctl/dev", 0o700)
		_ = os.WriteFile("clusters/.clusterctl/dev/journal.jsonl", []byte("{}\n"), 0o600)
	}
	_, _ = os.Stdout.WriteString("### Cluster dev\n")
	return int(os.Getenv(playCode)[0] - '0')
}

// pipelines gives the two YAML blocks of the page that are pipelines.
func pipelines(t *testing.T) (github, gitlab map[string]any) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		var v map[string]any
		if err := yaml.Unmarshal([]byte(block), &v); err != nil {
			t.Fatalf("%v in\n%s", err, block)
		}
		switch {
		case v["jobs"] != nil:
			github = v
		case v["stages"] != nil:
			gitlab = v
		}
	}
	if github == nil || gitlab == nil {
		t.Fatal("the page lacks a pipeline")
	}
	return github, gitlab
}

// githubScripts are the run parts of a job.
func githubScripts(t *testing.T, pipeline map[string]any, job string) []string {
	t.Helper()
	var out []string
	for _, s := range pipeline["jobs"].(map[string]any)[job].(map[string]any)["steps"].([]any) {
		if run, ok := s.(map[string]any)["run"].(string); ok {
			out = append(out, run)
		}
	}
	return out
}

// gitlabScript is the script of a job as GitLab joins it, and what follows it.
func gitlabScript(pipeline map[string]any, job string) []string {
	var out []string
	for _, part := range []string{"script", "after_script"} {
		var lines []string
		list, _ := pipeline[job].(map[string]any)[part].([]any)
		for _, l := range list {
			lines = append(lines, l.(string))
		}
		if len(lines) > 0 {
			out = append(out, strings.Join(lines, "\n"))
		}
	}
	return out
}

// checkout is a clone of a repository with a spec, and a PATH with the programs that scripts call.
type checkout struct {
	dir, origin, calls, summary string
	env                         []string
}

func newCheckout(t *testing.T, code string) *checkout {
	t.Helper()
	root := t.TempDir()
	c := &checkout{dir: filepath.Join(root, "work"), origin: filepath.Join(root, "origin.git"), calls: filepath.Join(root, "calls"), summary: filepath.Join(root, "summary")}
	bin := filepath.Join(root, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "clusterctl")); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"gh", "curl"} { // what they would send is written down
		script := "#!/bin/sh\necho " + other + " \"$@\" >>" + c.calls + "\ncase \"$*\" in *@-*) cat >>" + c.calls + " ;; esac\n"
		if err := os.WriteFile(filepath.Join(bin, other), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), playCalls+"="+c.calls, playCode+"="+code, "GITHUB_STEP_SUMMARY="+c.summary,
		"PULL_REQUEST=7", "COMMENT_TOKEN=t0ken", "CI_API_V4_URL=https://gitlab.example/api/v4", "CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7",
		"CI_COMMIT_BRANCH=main", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main")
	c.bash(t, 0, root, "git init --quiet --bare origin.git && git clone --quiet origin.git work 2>/dev/null && mkdir work/clusters")
	if err := os.WriteFile(filepath.Join(c.dir, "clusters", "dev.yaml"), spec.Example("local"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.bash(t, 0, c.dir, "git add . && git -c user.name=x -c user.email=x@example.com commit --quiet --message specs && git push --quiet origin HEAD:main && git checkout --quiet -B main origin/main")
	return c
}

// bash runs a script as the runners do.
func (c *checkout) bash(t *testing.T, code int, dir, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, c.env
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, want %d (%v):\n%s\n%s", got, code, err, script, out)
	}
	return string(out)
}

func (c *checkout) called(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(c.calls)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func (c *checkout) wantCalls(t *testing.T, want ...string) {
	t.Helper()
	if got := c.called(t); !slices.Equal(got, want) {
		t.Errorf("called\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// pushed tells what the last commit of the origin has.
func (c *checkout) pushed(t *testing.T) string {
	return c.bash(t, 0, c.origin, "git show --stat --format=%s main")
}

func TestGitHubPipelineDoesWhatThePageSays(t *testing.T) {
	github, _ := pipelines(t)
	c := newCheckout(t, "0")
	for _, s := range githubScripts(t, github, "plan") {
		c.bash(t, 0, c.dir, s)
	}
	c.wantCalls(t, "spec validate clusters/", "plan clusters/ -o markdown", "gh pr comment 7 --edit-last --create-if-none --body-file plan.md")
	if summary, _ := os.ReadFile(c.summary); !bytes.Contains(summary, []byte("### Cluster dev")) {
		t.Errorf("the summary is %q", summary)
	}

	c = newCheckout(t, "0")
	up := githubScripts(t, github, "up")
	for _, s := range slices.Concat(up, up[1:]) { // with nothing new the second time
		c.bash(t, 0, c.dir, s)
	}
	c.wantCalls(t, "up clusters/ --yes")
	if got := c.pushed(t); !strings.Contains(got, "[skip ci]") || !strings.Contains(got, "journal.jsonl") {
		t.Errorf("pushed\n%s", got)
	}

	for code, want := range map[string]int{"0": 0, "2": 2, "4": 4} {
		c := newCheckout(t, code)
		out := c.bash(t, want, c.dir, githubScripts(t, github, "drift")[0])
		c.wantCalls(t, "plan clusters/ --detailed-exitcode -o markdown")
		if strings.Contains(out, "::error::") != (code == "2") {
			t.Errorf("drift with code %s says %q", code, out)
		}
	}
}

func TestFailedPlanIsStillCommented(t *testing.T) {
	github, gitlab := pipelines(t)
	c := newCheckout(t, "4")
	scripts := githubScripts(t, github, "plan")
	c.bash(t, 4, c.dir, scripts[1])
	c.bash(t, 0, c.dir, scripts[2]) // if: always()
	c = newCheckout(t, "4")
	c.bash(t, 4, c.dir, gitlabScript(gitlab, "plan")[0])
	if calls := c.called(t); len(calls) != 4 || !strings.HasPrefix(calls[2], "curl") {
		t.Errorf("called %q", calls)
	}
}

func TestGitLabPipelineDoesWhatThePageSays(t *testing.T) {
	_, gitlab := pipelines(t)
	c := newCheckout(t, "0")
	c.bash(t, 0, c.dir, gitlabScript(gitlab, "plan")[0])
	c.wantCalls(t, "spec validate clusters/", "plan clusters/ -o markdown",
		"curl --silent --show-error --fail --header @- --data-urlencode body@plan.md https://gitlab.example/api/v4/projects/3/merge_requests/7/notes",
		"PRIVATE-TOKEN: t0ken") // by standard input, not as an argument

	c = newCheckout(t, "0")
	up := gitlabScript(gitlab, "up")
	c.bash(t, 0, c.dir, up[0])
	c.bash(t, 0, c.dir, strings.ReplaceAll(up[1], `"https://clusterctl:$PUSH_TOKEN@$CI_SERVER_HOST/$CI_PROJECT_PATH.git"`, `"`+c.origin+`"`))
	c.wantCalls(t, "up clusters/ --yes")
	if got := c.pushed(t); !strings.Contains(got, "[skip ci]") || !strings.Contains(got, "journal.jsonl") {
		t.Errorf("pushed\n%s", got)
	}

	c = newCheckout(t, "2")
	c.bash(t, 2, c.dir, gitlabScript(gitlab, "drift")[0])
	c.wantCalls(t, "plan clusters/ --detailed-exitcode")
}

// TestSpecsOfThePageAreSpecs loads the parts of specs that the page shows.
func TestSpecsOfThePageAreSpecs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		more, is := strings.CutPrefix(block, "spec:\n")
		if !is {
			continue
		}
		n++
		if _, err := spec.Parse("page", append(bytes.TrimRight(spec.Example("local"), "\n"), []byte("\n"+more)...)); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
	if n != 2 {
		t.Errorf("%d parts of specs", n)
	}
}
