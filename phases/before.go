package phases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"clusterctl/components"
	"clusterctl/phases/etcdapi"
	"clusterctl/phases/health"
	"clusterctl/phases/kube"
	"clusterctl/pki"
	"clusterctl/provision/inventory"
)

// steady is how long an API server that was restarted must stay ready before the next goes: longer
// than balancers take to see it.
const steady = 2 * time.Second

// etcdBefore: the other members are well, and the lead is with one of them. A member that is not
// well itself may be restarted at once: nothing is lost by it.
func etcdBefore(e *Env, h inventory.Host) []health.Condition {
	return []health.Condition{{Name: "etcd can spare this member", Host: h.Name, Timeout: unitTimeout, Check: func(ctx context.Context) error {
		own, err := e.EtcdMember(ctx, h.Name)
		if err != nil || len(own.Errors) > 0 {
			return ctx.Err()
		}
		next := uint64(0)
		for _, other := range e.others(h.Name) {
			if o, _ := e.Cluster.Inventory.Get(other); e.Cluster.joins(o) {
				continue // it is no member yet
			}
			st, err := e.EtcdMember(ctx, other)
			if err == nil && len(st.Errors) > 0 {
				err = errors.New(strings.Join(st.Errors, ", "))
			}
			if err != nil {
				return fmt.Errorf("member %s: %w", other, err)
			}
			next = st.MemberID
		}
		if !own.Leader || next == 0 {
			return nil
		}
		return e.moveLead(ctx, h.Name, next)
	}}}
}

// moveLead asks a leader to hand over. It is asked again until it leads no more.
func (e *Env) moveLead(ctx context.Context, name string, to uint64) error {
	h, err := e.Hosts.Get(name)
	if err != nil {
		return err
	}
	cred, err := e.etcdCredentials(name)
	if err != nil {
		return err
	}
	if err := etcdapi.MoveLead(ctx, h.Dial, cred, to); err != nil {
		return err
	}
	return errors.New("it handed the lead to another member a moment ago")
}

// apiServerBefore: the API servers of the other control planes serve, unless this one does not
// either.
func apiServerBefore(e *Env, h inventory.Host) []health.Condition {
	return []health.Condition{{Name: "the other API servers ready", Host: h.Name, Timeout: unitTimeout, Check: func(ctx context.Context) error {
		if e.serving(ctx, h.Name) != nil {
			return ctx.Err()
		}
		for _, other := range e.others(h.Name) {
			if err := e.serving(ctx, other); err != nil {
				return fmt.Errorf("%s: %w", other, err)
			}
		}
		return nil
	}}}
}

func (e *Env) serving(ctx context.Context, name string) error {
	h, err := e.Hosts.Get(name)
	if err != nil {
		return err
	}
	return kube.ReadyAt(ctx, h.Dial, e.Cluster.Secrets.CA(pki.ClusterCA).CertPEM, components.APIServerPort, "/readyz")
}

// steadyAPIServer is apiServerGates for one that was restarted.
func steadyAPIServer(e *Env, h inventory.Host) []health.Condition {
	out := apiServerGates(e, h)
	for i := range out {
		out[i].Steady = steady
	}
	return out
}

// others are the control planes beside the named one.
func (e *Env) others(name string) []string {
	var out []string
	for _, h := range e.Cluster.planes(e.Skip) {
		if h.Name != name {
			out = append(out, h.Name)
		}
	}
	return out
}
