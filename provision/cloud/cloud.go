// Package cloud is the provider of hosts that are made as machines in a cloud. What there must be
// is a program in a package of its own for each cloud; Pulumi's engine makes it so, and this
// package decides what the engine may do: it never replaces a host and never deletes one that
// the rest of the program did not take out of the cluster first.
//
// What it keeps in the cluster's state directory:
//
//	pulumi/        the engine's state, its passphrase and its working directory
//	ssh/           the login key, when the spec names none, and the hosts' keys
package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clusterctl/provision"
	"clusterctl/provision/cloud/engine"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/event"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Options is what a Provider is made of.
type Options struct {
	StateDir string // the cluster's own state directory
	CacheDir string // Pulumi's CLI and plugins are in it, shared by clusters
	SSH      sshhost.Options
	Log      *slog.Logger // nil: nothing is logged
	Env      []string     // more environment for the engine and its plugins
}

// Provider makes hosts in a cloud.
type Provider struct {
	opts      Options
	endpoint  string
	discarded string // host that was taken away to be made anew; empty for none
}

var (
	_ provision.Provider = (*Provider)(nil)
	_ provision.Pruner   = (*Provider)(nil)

	_ provision.Discarder = (*Provider)(nil)
)

// New gives a provider. It touches nothing.
func New(o Options) *Provider {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if abs, err := filepath.Abs(o.StateDir); err == nil {
		o.StateDir = abs
	}
	return &Provider{opts: o}
}

func (p *Provider) engine(s *spec.Cluster) *engine.Engine {
	home := os.Getenv("PULUMI_HOME")
	if home == "" {
		home = filepath.Join(p.opts.CacheDir, "pulumi")
	}
	return engine.New(engine.Options{
		Dir: filepath.Join(p.opts.StateDir, "pulumi"), Stack: s.Metadata.Name, Backend: s.Spec.Provider.Cloud().Backend, Home: home,
		CLI: filepath.Join(p.opts.CacheDir, "pulumi", "bin", "pulumi"), Env: p.opts.Env, Log: p.opts.Log,
	})
}

// known is a cluster with what its state says.
type known struct {
	kind    kind
	engine  *engine.Engine
	state   engine.State
	cluster layout.Cluster
	preview pulumi.RunFunc // the program as it is judged
	program pulumi.RunFunc // the program as it is carried out
	cause   *error         // what it returned: the engine passes its text on, not the error
}

// read finds out what the state has of the cluster, and plans its machines.
func (p *Provider) read(ctx context.Context, s *spec.Cluster) (known, error) {
	kd, err := kindOf(s)
	if err != nil {
		return known{}, err
	}
	k := known{kind: kd, engine: p.engine(s), cause: new(error)}
	if k.state, err = k.engine.State(ctx); err != nil {
		return k, err
	}
	k.cluster = layout.Cluster{Spec: s, Seen: kd.seen(k.state)}
	if k.cluster.Machines, err = layout.Plan(s, k.cluster.Seen.Addresses); err != nil {
		return k, err
	}
	return k, nil
}

// ready completes the cluster with the login key and makes the programs.
func (k *known) ready(loginKey string) {
	k.cluster.LoginKey = loginKey
	told := func(c layout.Cluster) pulumi.RunFunc {
		program := k.kind.program(c)
		return func(ctx *pulumi.Context) error {
			*k.cause = program(ctx)
			return *k.cause
		}
	}
	open := k.cluster
	open.Unprotected = true
	k.preview, k.program = told(open), told(k.cluster)
}

// told gives the program's own error where it is one of a type: the engine passes on its text alone.
func (k *known) told(err error) error {
	if strangers, ok := errors.AsType[*layout.StrangersError](*k.cause); ok && err != nil {
		return strangers
	}
	return err
}

// steps are those that the engine would take, with the deletion of hosts that are not among the
// machines. The engine is not asked for these: it would refuse, since control planes are protected.
func (k *known) steps(ctx context.Context) ([]engine.Step, error) {
	var gone []engine.Step
	for _, t := range k.state.Things {
		step := engine.Step{Op: engine.Delete, URN: t.URN, Type: t.Type, Name: t.Name, Parent: t.Parent, ID: t.ID, Protected: t.Protected, Old: t.Inputs}
		name := hostOf(step)
		if name != "" && !slices.ContainsFunc(k.cluster.Machines, func(m layout.Machine) bool { return m.Name == name }) {
			gone = append(gone, step)
		}
	}
	leave := urns(gone)
	steps, err := k.engine.Preview(ctx, k.preview, leave)
	if err := k.told(err); err != nil {
		return nil, err
	}
	return append(slices.DeleteFunc(steps, func(s engine.Step) bool { return slices.Contains(leave, s.URN) }), gone...), nil
}

// Inventory gives the hosts as they are, or will be once they are made. It contacts none.
func (p *Provider) Inventory(ctx context.Context, s *spec.Cluster) (inventory.Inventory, error) {
	k, err := p.read(ctx, s)
	if err != nil {
		return inventory.Inventory{}, err
	}
	return p.inventory(k), nil
}

func (p *Provider) inventory(k known) inventory.Inventory {
	out := outputsOf(k.state.Outputs)
	p.endpoint, out.Places = out.Endpoint, k.places()
	return layout.Inventory(k.cluster.Spec, k.cluster.Machines, out, p.login(k.cluster.Spec))
}

// places says where the machines are that exist, by name.
func (k known) places() map[string]inventory.Place {
	out := map[string]inventory.Place{}
	for _, t := range k.state.Things {
		if t.Type == k.kind.machine && t.ID != "" {
			out[t.Name] = k.kind.place(k.cluster.Spec, t.ID, t.Inputs)
		}
	}
	return out
}

// Endpoint is the address of the API's load balancer, as the last inventory found it; empty before
// it is made, and where the cloud has none.
func (p *Provider) Endpoint() string { return p.endpoint }

// Preview says what Ensure and Prune would do.
func (p *Provider) Preview(ctx context.Context, s *spec.Cluster) ([]provision.Change, error) {
	k, err := p.read(ctx, s)
	if err != nil {
		return nil, err
	}
	key, err := p.publicKey(s, k.state.Exists)
	if err != nil {
		return nil, err
	}
	k.ready(key)
	steps, err := k.steps(ctx)
	if err != nil {
		return nil, err
	}
	return p.unvisited(k, changes(k, steps))
}

// unvisited marks the hosts whose key is not known: a run was cut off between their making and the
// first login, so there is nothing on them yet.
func (p *Provider) unvisited(k known, changes []provision.Change) ([]provision.Change, error) {
	keys, err := p.readHostKeys()
	if err != nil {
		return nil, err
	}
	for i, c := range changes {
		if c.Kind == "host" && c.Verb == provision.Keep && !keys.has(k.cluster.Seen.Machines[c.Name]) {
			changes[i].Verb, changes[i].Detail = provision.Start, c.Detail+", never logged in to"
		}
	}
	return changes, nil
}

// Ensure makes the machines that are missing and returns when all of them can be worked on.
// It refuses to replace a host, and leaves those alone that the spec no longer names. After Discard
// it makes that one host again, and the others stay as they are, also where the spec has changed.
func (p *Provider) Ensure(ctx context.Context, s *spec.Cluster, to event.Sink) (inventory.Inventory, error) {
	k, err := p.up(ctx, s, "", to, func(k known, steps []engine.Step) ([]string, error) {
		others, err := p.others(k, steps)
		return append(urns(unnamed(k, steps)), others...), err
	})
	if err != nil {
		return inventory.Inventory{}, err
	}
	inv := p.inventory(k)
	return inv, p.await(ctx, k, inv, to)
}

// Prune deletes the hosts that the spec no longer names, control planes too: their members have left
// etcd, one after the other, before it is called.
func (p *Provider) Prune(ctx context.Context, s *spec.Cluster, to event.Sink) error {
	_, err := p.up(ctx, s, "", to, func(k known, steps []engine.Step) ([]string, error) {
		others, err := p.others(k, steps)
		if err != nil {
			return nil, err
		}
		return others, unprotect(ctx, k, unnamed(k, steps))
	})
	return err
}

// others are the hosts (URNs of what differs) that wait for their turn while one is made anew. Where
// none is, they are refused.
func (p *Provider) others(k known, steps []engine.Step) ([]string, error) {
	if p.discarded == "" {
		return nil, refuse(k, steps)
	}
	return urns(differing(k, steps)), nil
}

// Discard deletes the machine of one host of the spec, with its disks; Ensure makes another one.
// The engine itself is never asked to replace a machine: it would do so to all that differ.
func (p *Provider) Discard(ctx context.Context, s *spec.Cluster, host string, to event.Sink) error {
	p.discarded = host
	k, err := p.read(ctx, s)
	if err != nil || !k.state.Exists {
		return err
	}
	if err := p.adopt(ctx, k, to); err != nil {
		return err
	}
	_, err = p.up(ctx, s, host, to, func(k known, steps []engine.Step) ([]string, error) {
		leave, its := differing(k, steps), []engine.Step(nil)
		for _, step := range unnamed(k, steps) {
			if hostOf(step) == host {
				its = append(its, step)
			} else {
				leave = append(leave, step)
			}
		}
		return urns(leave), unprotect(ctx, k, its)
	})
	return err
}

// unprotect lets the engine delete things that are protected from it.
func unprotect(ctx context.Context, k known, steps []engine.Step) error {
	for _, step := range steps {
		if !step.Protected {
			continue
		}
		if err := k.engine.Unprotect(ctx, step.URN); err != nil {
			return err
		}
	}
	return nil
}

func urns(steps []engine.Step) []string {
	var out []string
	for _, step := range steps {
		out = append(out, step.URN)
	}
	return out
}

// up previews, lets judge say what is left alone or why nothing is done, and makes the rest; one
// host may be left out. It returns the cluster with the state after that.
func (p *Provider) up(ctx context.Context, s *spec.Cluster, without string, to event.Sink, judge func(known, []engine.Step) ([]string, error)) (known, error) {
	k, err := p.read(ctx, s)
	if err != nil {
		return k, err
	}
	k.cluster.Machines = slices.DeleteFunc(k.cluster.Machines, func(m layout.Machine) bool { return m.Name == without })
	key, err := p.ensureKey(s, k.state.Exists)
	if err != nil {
		return k, err
	}
	k.ready(key)
	for _, t := range k.state.Pending {
		emit(to, event.Warning, "", doubt(k.kind, t))
	}
	steps, err := k.steps(ctx)
	if err != nil {
		return k, err
	}
	leave, err := judge(k, steps)
	if err != nil {
		return k, err
	}
	if len(k.state.Pending) == 0 && k.state.Exists && !slices.ContainsFunc(steps, func(st engine.Step) bool { return st.Op != engine.Same && !slices.Contains(leave, st.URN) }) {
		return k, nil
	}
	if err := k.told(k.engine.Up(ctx, k.program, engine.Limits{Leave: leave}, progress(k, to))); err != nil {
		return k, err
	}
	after, err := p.read(ctx, s)
	return after, err
}

// doubt says what becomes of a thing whose making was cut off.
func doubt(kd kind, t engine.Thing) string {
	begun := fmt.Sprintf("a run was cut off while it made %s %s: ", kd.word(t.Type), t.Name)
	if kd.sought(t.Type) {
		return begun + "it is looked for, and taken over if it is there"
	}
	return begun + kd.name + " cannot be asked for it; if this run fails because it is there already, delete it there and run again"
}

// LeftError lists what could not be deleted, with ids.
type LeftError struct {
	Err  error
	Left []string
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("%v\nleft in the cloud, run down again:\n  %s", e.Err, strings.Join(e.Left, "\n  "))
}

func (e *LeftError) Unwrap() error { return e.Err }

// Destroy deletes the machines, then the network, and at last the engine's state. What Kubernetes
// itself made in the cloud must be gone before: it would be left behind, and hold the network.
func (p *Provider) Destroy(ctx context.Context, s *spec.Cluster, to event.Sink) error {
	k, err := p.read(ctx, s)
	if err != nil || !k.state.Exists {
		return err
	}
	if err := k.kind.checkLeftovers(ctx, k); err != nil {
		return err
	}
	if err := p.adopt(ctx, k, to); err != nil {
		return err
	}
	if err := k.engine.Destroy(ctx, progress(k, to)); err != nil {
		return p.left(ctx, k, err)
	}
	return nil
}

// adopt takes over what a run that was cut off left in the cloud, so that it is deleted with the
// rest. A lost login key does not matter for that.
func (p *Provider) adopt(ctx context.Context, k known, to event.Sink) error {
	key, err := p.publicKey(k.cluster.Spec, false)
	if err != nil {
		return err
	}
	k.ready(key)
	steps, err := k.steps(ctx)
	if err != nil {
		return err
	}
	var only []string
	for _, s := range steps {
		if s.Op == engine.Adopt {
			only = append(only, s.URN)
		}
	}
	if len(only) == 0 {
		return nil
	}
	return k.told(k.engine.Up(ctx, k.program, engine.Limits{Only: only}, progress(k, to)))
}

// left says what a failed Destroy left.
func (p *Provider) left(ctx context.Context, k known, cause error) error {
	state, err := k.engine.State(context.WithoutCancel(ctx))
	if err != nil {
		return errors.Join(cause, err)
	}
	out := &LeftError{Err: cause}
	for _, t := range state.Things {
		if t.ID != "" && !strings.HasPrefix(t.Type, "pulumi:") {
			out.Left = append(out.Left, fmt.Sprintf("%s %s (%s)", k.kind.word(t.Type), t.Name, t.ID))
		}
	}
	if len(out.Left) == 0 {
		return cause
	}
	return out
}

// outputsOf reads what the program exports; what is not there yet is empty.
func outputsOf(outputs map[string]any) layout.Outputs {
	text := func(key string) string { s, _ := outputs[key].(string); return s }
	return layout.Outputs{Endpoint: text("endpoint"), Bastion: text("bastion"), Public: texts(outputs["public"])}
}

func texts(v any) map[string]string {
	out := map[string]string{}
	m, _ := v.(map[string]any)
	for k, v := range m {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// seen is what the state says of a cluster.
func (kd kind) seen(state engine.State) layout.Seen {
	out := layout.Seen{
		Founded: len(state.Things) > 0, Images: texts(state.Outputs["images"]), Machines: map[string]string{},
		Addresses: map[string]netip.Addr{}, Pending: map[string][]string{},
	}
	for _, t := range state.Things {
		out.IDs = append(out.IDs, t.ID)
		if t.Type != kd.machine {
			continue
		}
		out.Machines[t.Name] = t.ID
		if a, err := netip.ParseAddr(kd.address(t.Inputs)); err == nil {
			out.Addresses[t.Name] = a
		}
	}
	for _, t := range state.Pending {
		out.Founded = true
		out.Pending[t.Type] = append(out.Pending[t.Type], t.Name)
	}
	return out
}
