// Package engine runs Pulumi's engine for one cluster: it finds the CLI, keeps the engine's state
// and its passphrase, and turns what the engine says into steps and errors of our own. It knows
// nothing of clouds.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// project is the name of all clusters' Pulumi project; the stack is the cluster.
const project = "clusterctl"

// Options is what an engine is made of.
type Options struct {
	Dir     string // the cluster's own directory for this; made when it is needed
	Stack   string // the cluster's name
	Backend string // URL of the state; empty: in Dir
	Home    string // Pulumi's own directory, for plugins
	CLI     string // where "make pulumi" puts the CLI
	Env     []string
	Log     *slog.Logger
}

// Engine runs programs for one cluster.
type Engine struct {
	o   Options
	cli *command
}

// New makes an engine. It touches nothing.
func New(o Options) *Engine {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{o: o}
}

func (e *Engine) stateDir() string       { return filepath.Join(e.o.Dir, "state") }
func (e *Engine) passphrasePath() string { return filepath.Join(e.o.Dir, "passphrase") }

// Exists says whether there may be a state. It is cheap, and sure for the state directory only.
func (e *Engine) Exists() bool {
	if e.o.Backend != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(e.stateDir(), ".pulumi", "stacks", project, e.o.Stack+".json"))
	return err == nil
}

// place is where one run of the CLI works.
type place struct{ work, backend, passphrase string }

// own is the cluster's place; its directories are made, readable to nobody else.
func (e *Engine) own() (place, error) {
	p := place{work: filepath.Join(e.o.Dir, "work"), backend: cmp.Or(e.o.Backend, "file://"+e.stateDir()), passphrase: e.passphrasePath()}
	for _, dir := range []string{e.o.Dir, e.stateDir(), p.work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return place{}, fmt.Errorf("make a directory for the cloud's state: %w", err)
		}
	}
	return p, e.ensurePassphrase()
}

// passing is a place that is thrown away: for a preview of what does not exist.
func passing() (place, func(), error) {
	dir, err := os.MkdirTemp("", "clusterctl-preview-")
	if err != nil {
		return place{}, nil, fmt.Errorf("make a directory for a preview: %w", err)
	}
	p := place{work: filepath.Join(dir, "work"), backend: "file://" + dir, passphrase: filepath.Join(dir, "passphrase")}
	err = errors.Join(os.Mkdir(p.work, 0o700), os.WriteFile(p.passphrase, []byte("preview"), 0o600))
	return p, func() { os.RemoveAll(dir) }, err
}

// ensurePassphrase makes the passphrase once, before there is anything that it protects.
func (e *Engine) ensurePassphrase() error {
	if os.Getenv("PULUMI_CONFIG_PASSPHRASE") != "" || os.Getenv("PULUMI_CONFIG_PASSPHRASE_FILE") != "" {
		return nil // the user's own
	}
	path := e.passphrasePath()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if e.o.Backend == "" && e.Exists() {
		return &PassphraseError{Path: path, Missing: true}
	}
	b := make([]byte, 24)
	if _, err := rand.Read(b); err != nil {
		return fmt.Errorf("make the passphrase of the cloud's state: %w", err)
	}
	if err := renameio.WriteFile(path, []byte(hex.EncodeToString(b)+"\n"), 0o600, renameio.IgnoreUmask()); err != nil {
		return fmt.Errorf("store the passphrase of the cloud's state: %w", err)
	}
	return nil
}

// environment is what the CLI gets besides this process's own environment. The passphrase is a
// file's name: it is in no argument list and in no other program's environment.
func (e *Engine) environment(p place) map[string]string {
	env := map[string]string{
		"PULUMI_BACKEND_URL": p.backend, "PULUMI_HOME": e.o.Home, "PULUMI_SKIP_UPDATE_CHECK": "true",
		"PULUMI_CONFIG_PASSPHRASE_FILE": p.passphrase,
	}
	if file := os.Getenv("PULUMI_CONFIG_PASSPHRASE_FILE"); file != "" {
		env["PULUMI_CONFIG_PASSPHRASE_FILE"] = file
	}
	for _, kv := range e.o.Env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return env
}

// stack opens the cluster's stack; make says whether one that is not there is made. ok is false
// when there is none.
func (e *Engine) stack(ctx context.Context, p place, program pulumi.RunFunc, make bool) (s auto.Stack, ok bool, err error) {
	if e.cli == nil {
		if e.cli, err = findCommand(ctx, e.o.CLI, []string{"PULUMI_HOME=" + e.o.Home, "PULUMI_SKIP_UPDATE_CHECK=true"}); err != nil {
			return s, false, err
		}
	}
	opts := []auto.LocalWorkspaceOption{auto.WorkDir(p.work), auto.PulumiHome(e.o.Home), auto.Pulumi(e.cli), auto.EnvVars(e.environment(p))}
	if make {
		s, err = auto.UpsertStackInlineSource(ctx, e.o.Stack, project, program, opts...)
	} else {
		s, err = auto.SelectStackInlineSource(ctx, e.o.Stack, project, program, opts...)
	}
	if err != nil && !make && auto.IsSelectStack404Error(err) {
		return s, false, nil
	}
	if err != nil {
		return s, false, e.explain("open the cloud's state", err, nil)
	}
	return s, true, nil
}

// Preview gives the steps that Up would take, but for the things (URNs) that are left out. Where
// there is no state yet none is made.
func (e *Engine) Preview(ctx context.Context, program pulumi.RunFunc, leave []string) ([]Step, error) {
	s, cleanup, err := e.look(ctx, program)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	w := watch(nil)
	opts := []optpreview.Option{optpreview.EventStreams(w.events)}
	if len(leave) > 0 {
		opts = append(opts, optpreview.Exclude(leave))
	}
	_, err = s.Preview(ctx, opts...)
	steps, problems := w.close()
	if err != nil {
		return nil, e.explain("preview", err, problems)
	}
	return steps, nil
}

// Ask runs a program that only looks things up. It needs no state and leaves none.
func (e *Engine) Ask(ctx context.Context, program pulumi.RunFunc) error {
	p, cleanup, err := passing()
	if err != nil {
		return err
	}
	defer cleanup()
	s, _, err := e.stack(ctx, p, program, true)
	if err != nil {
		return err
	}
	w := watch(nil)
	_, err = s.Preview(ctx, optpreview.EventStreams(w.events))
	_, problems := w.close()
	return e.explain("look into the cloud", err, problems)
}

// look opens the cluster's stack, or one to throw away where there is none.
func (e *Engine) look(ctx context.Context, program pulumi.RunFunc) (s auto.Stack, cleanup func(), err error) {
	if e.Exists() {
		p, err := e.own()
		if err != nil {
			return s, nil, err
		}
		if s, ok, err := e.stack(ctx, p, program, false); err != nil || ok {
			return s, func() {}, err
		}
	}
	p, cleanup, err := passing()
	if err != nil {
		return s, nil, err
	}
	if s, _, err = e.stack(ctx, p, program, true); err != nil {
		cleanup()
	}
	return s, cleanup, err
}

// Limits keep Up from a part of what it would do. Both are URNs.
type Limits struct {
	Leave []string // things that stay as they are
	Only  []string // if not empty: the only things that are touched
}

// Up makes what the program asks for. to hears of each step as it begins and ends.
func (e *Engine) Up(ctx context.Context, program pulumi.RunFunc, limits Limits, to func(Progress)) error {
	p, err := e.own()
	if err != nil {
		return err
	}
	s, _, err := e.stack(ctx, p, program, true)
	if err != nil {
		return err
	}
	if err := e.clearDeadLock(ctx, &s); err != nil {
		return err
	}
	opts := []optup.Option{optup.SuppressOutputs(), optup.SuppressProgress(), optup.ShowSecrets(false)}
	if len(limits.Leave) > 0 {
		opts = append(opts, optup.Exclude(limits.Leave))
	}
	if len(limits.Only) > 0 {
		opts = append(opts, optup.Target(limits.Only))
	}
	w := watch(to)
	_, err = s.Up(ctx, append(opts, optup.EventStreams(w.events))...)
	_, problems := w.close()
	if err != nil || len(limits.Only) > 0 {
		return interrupted(ctx, e.explain("make the machines", err, problems))
	}
	return e.settle(ctx, s)
}

// settle takes out of the state that something was in the making when a run was cut off: what was
// there is adopted by now, and the rest is made. The engine itself forgets only what it made again.
func (e *Engine) settle(ctx context.Context, s auto.Stack) error {
	exported, err := s.Export(ctx)
	if err != nil {
		return e.explain("read the cloud's state", err, nil)
	}
	var d apitype.DeploymentV3
	if err := json.Unmarshal(exported.Deployment, &d); err != nil {
		return fmt.Errorf("read the cloud's state: %w", err)
	}
	begun := len(d.PendingOperations)
	d.PendingOperations = slices.DeleteFunc(d.PendingOperations, func(op apitype.OperationV2) bool { return op.Type == apitype.OperationTypeCreating })
	if len(d.PendingOperations) == begun {
		return nil
	}
	if exported.Deployment, err = json.Marshal(d); err != nil {
		return fmt.Errorf("write the cloud's state: %w", err)
	}
	return e.explain("write the cloud's state", s.Import(ctx, exported), nil)
}

// Destroy deletes everything in the state, and then the state. Nothing there is no error.
func (e *Engine) Destroy(ctx context.Context, to func(Progress)) error {
	if !e.Exists() {
		return nil
	}
	p, err := e.own()
	if err != nil {
		return err
	}
	none := func(*pulumi.Context) error { return nil }
	s, ok, err := e.stack(ctx, p, none, false)
	if err != nil || !ok {
		return err
	}
	if err := e.clearDeadLock(ctx, &s); err != nil {
		return err
	}
	if err := e.unprotect(ctx, p, "--all"); err != nil {
		return err
	}
	w := watch(to)
	_, err = s.Destroy(ctx, optdestroy.EventStreams(w.events), optdestroy.SuppressOutputs(), optdestroy.SuppressProgress())
	_, problems := w.close()
	if err != nil {
		return interrupted(ctx, e.explain("delete the machines", err, problems))
	}
	if err := s.Workspace().RemoveStack(ctx, e.o.Stack); err != nil {
		return e.explain("remove the cloud's state", err, nil)
	}
	return nil
}

// Unprotect lets Up delete one thing that is protected from it.
func (e *Engine) Unprotect(ctx context.Context, urn string) error {
	p, err := e.own()
	if err != nil {
		return err
	}
	return e.unprotect(ctx, p, urn)
}

// unprotect lets the engine delete a thing that is protected from it: the URN, or --all.
func (e *Engine) unprotect(ctx context.Context, p place, what string) error {
	var env []string
	for k, v := range e.environment(p) {
		env = append(env, k+"="+v)
	}
	_, stderr, _, err := e.cli.Run(ctx, p.work, nil, nil, nil, env, "state", "unprotect", what, "--yes", "--stack", e.o.Stack)
	if err != nil {
		return e.explain("take the protection off in the cloud's state", fmt.Errorf("%w\n%s", err, stderr), nil)
	}
	return nil
}

// interrupted says that what went wrong is that we were asked to stop: the engine has finished
// and recorded what it had begun.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped; what was begun in the cloud is finished and recorded: %w", ctx.Err())
	}
	return err
}
