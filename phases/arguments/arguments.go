// Package arguments asks programs of a bundle, on this machine, whether they know the arguments
// that they are going to be started with. They parse all of them and then only print their
// version.
package arguments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Vector is a component's planned arguments.
type Vector struct {
	Component string   // as which the program is started
	Program   string   // path on this machine
	Version   string   // of the program, for people
	Args      []string // all
	Own       []string // those of the spec, which are named when they are wrong
	Field     string   // of the spec where Own stands
}

// UnknownError says which arguments a program does not take. Nothing was changed.
type UnknownError struct{ Reasons []string }

func (e *UnknownError) Error() string { return strings.Join(e.Reasons, "\n") }

// ExitCode is the contract's code for a spec that cannot be followed.
func (e *UnknownError) ExitCode() int { return 3 }

// timeout is for one question: a big program on a busy machine.
const timeout = 30 * time.Second

// Check asks for every vector; an *UnknownError has all that is wrong with all of them.
func Check(ctx context.Context, vectors []Vector) error {
	reasons := make([][]string, len(vectors))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for i, v := range vectors {
		g.Go(func() (err error) {
			reasons[i], err = check(ctx, v)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var all []string
	for _, r := range reasons {
		all = append(all, r...)
	}
	if len(all) == 0 {
		return nil
	}
	return &UnknownError{Reasons: all}
}

// check asks for all arguments at once, and one by one only when something is wrong: a program
// names the first alone.
func check(ctx context.Context, v Vector) ([]string, error) {
	whole, err := ask(ctx, v, v.Args)
	if err != nil || whole == "" {
		return nil, err
	}
	var reasons []string
	for _, arg := range v.Own {
		why, err := ask(ctx, v, []string{arg})
		if err != nil {
			return nil, err
		}
		if why != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s %s does not take %s: %s", v.Field, v.Component, v.Version, arg, why))
		}
	}
	if len(reasons) == 0 {
		reasons = []string{fmt.Sprintf("%s %s does not take its arguments: %s", v.Component, v.Version, whole)}
	}
	return reasons, nil
}

// ask starts the program once and gives why it does not take the arguments; empty when it does.
func ask(ctx context.Context, v Vector, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, v.Program)
	cmd.Args = append(append([]string{v.Component}, args...), "--version")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited && ctx.Err() == nil {
		return reason(out.String()), nil
	}
	if err != nil {
		return "", fmt.Errorf("ask %s %s for its arguments: %w", v.Component, v.Version, errors.Join(err, ctx.Err()))
	}
	return "", nil
}

// What programs say of an argument: Kubernetes through its log or cobra, etcd through package flag.
var sayings = []*regexp.Regexp{
	regexp.MustCompile(`err="(.*)"`), regexp.MustCompile(`(?m)^Error: (.*)$`),
	regexp.MustCompile(`(?m)(flag provided but not defined: .*)$`), regexp.MustCompile(`(?m)(invalid value .*)$`),
}

func reason(out string) string {
	for _, re := range sayings {
		if m := re.FindStringSubmatch(out); m != nil {
			return strings.TrimSpace(strings.ReplaceAll(m[1], `\"`, `"`))
		}
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
