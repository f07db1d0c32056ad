package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// run executes a command line without a terminal.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Execute(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errOut})
	return code, out.String(), errOut.String()
}

func TestHelpListsExitCodes(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help"}} {
		code, out, errOut := run(t, args...)
		if code != 0 || errOut != "" {
			t.Errorf("%q: code %d, stderr %q; want 0 and nothing", args, code, errOut)
		}
		for _, want := range []string{"Exit codes:", "130  interrupted", "version", "completion", "--log-level"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q: help lacks %q:\n%s", args, want, out)
			}
		}
	}
}

func TestWrongUsageExitsThreeWithHint(t *testing.T) {
	tests := []struct {
		args []string
		want string // in stderr
	}{
		{[]string{"--nonsense"}, "unknown flag: --nonsense"},
		{[]string{"verson"}, `unknown command "verson" for "clusterctl"; did you mean version?`},
		{[]string{"version", "extra"}, `"extra"`},
		{[]string{"version", "--nonsense"}, `run "clusterctl version --help" for usage`},
		{[]string{"version", "-o", "yaml"}, `"yaml" is neither text nor json`},
		{[]string{"version", "--log-level", "loud"}, "log-level"},
		{[]string{"help", "verson"}, `no help on "verson"`},
		{[]string{"spec", "bogus"}, `unknown command "bogus" for "clusterctl spec"`},
		{[]string{"completion", "tcsh"}, `unknown command "tcsh" for "clusterctl completion"`},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, out, errOut := run(t, tt.args...)
			if code != 3 {
				t.Errorf("exit code %d, want 3", code)
			}
			if out != "" {
				t.Errorf("stdout = %q, want nothing", out)
			}
			if !strings.Contains(errOut, tt.want) || !strings.Contains(errOut, "--help") {
				t.Errorf("stderr = %q, want %q and a hint", errOut, tt.want)
			}
		})
	}
}

func TestHelpOnACommand(t *testing.T) {
	code, out, errOut := run(t, "help", "spec", "validate")
	if code != 0 || errOut != "" || !strings.Contains(out, "clusterctl spec validate") {
		t.Errorf("code %d, stderr %q, stdout %q", code, errOut, out)
	}
}

func TestReportOfAnInterruption(t *testing.T) {
	var errOut bytes.Buffer
	report(Streams{Err: &errOut}, &cobra.Command{}, fmt.Errorf("wait: %w", context.Canceled), exitInterrupted)
	if got, want := errOut.String(), "error: interrupted\n       run the same command again to go on from here\n"; got != want {
		t.Errorf("stderr = %q, want %q", got, want)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code, out, errOut := run(t, "completion", shell)
		if code != 0 || errOut != "" || !strings.Contains(out, "clusterctl") {
			t.Errorf("completion %s: code %d, stderr %q, %d bytes", shell, code, errOut, len(out))
		}
	}
	if _, out, _ := run(t, "__complete", "version", "-o", ""); !strings.Contains(out, "json") {
		t.Errorf("completion of -o = %q, want json in it", out)
	}
}

func TestOnlyErrorsBeforeTheCommandStartsAreUsageErrors(t *testing.T) {
	newRoot := func(runErr error) *cobra.Command {
		root := &cobra.Command{Use: "root", SilenceErrors: true, SilenceUsage: true}
		sub := &cobra.Command{Use: "sub", RunE: func(*cobra.Command, []string) error { return runErr }}
		sub.Flags().String("need", "", "")
		if err := sub.MarkFlagRequired("need"); err != nil {
			t.Fatal(err)
		}
		root.AddCommand(sub)
		return root
	}
	tests := []struct {
		name string
		args []string
		want bool // started
	}{
		{"required flag missing", []string{"sub"}, false},
		{"the command's own error", []string{"sub", "--need", "x"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := newRoot(errors.New("boom"))
			root.SetArgs(tt.args)
			started := markStart(root)
			if err := root.ExecuteContext(t.Context()); err == nil {
				t.Fatal("no error")
			}
			if *started != tt.want {
				t.Errorf("started = %v, want %v", *started, tt.want)
			}
		})
	}
}

func TestEveryCommandHasAShortText(t *testing.T) {
	root := newRootCommand(Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	for _, c := range root.Commands() {
		if c.Short == "" {
			t.Errorf("%s has no short text", c.Name())
		}
	}
}
