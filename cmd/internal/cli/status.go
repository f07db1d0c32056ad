package cli

import (
	"context"
	"fmt"

	"clusterctl/cmd/internal/view"
	"clusterctl/phases/state"
	"clusterctl/phases/status"

	"github.com/spf13/cobra"
)

func newStatusCommand(o *clusterOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status SPEC...",
		Short: "Show hosts, versions, etcd, nodes and certificates",
		Long: "Asks every host and the API once, changes nothing and needs no lock.\n" +
			"The exit code is 1 when something needs a person's eye, 4 when a host cannot be reached." + severalUsage,
		Example: "  clusterctl status cluster.yaml\n  clusterctl status clusters/ -o json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.each(cmd.Context(), args, view.StatusTable(), func(ctx context.Context, s *session) error { return s.status(ctx) })
		},
	}
	o.addFlags(cmd)
	o.addClustersFlag(cmd)
	return cmd
}

func (s *session) status(ctx context.Context) error {
	if !s.state.Exists() {
		return s.noState()
	}
	inv, found, err := s.state.Inventory()
	if err != nil {
		return err
	}
	if !found {
		if inv, err = s.provider.Inventory(ctx, s.spec); err != nil {
			return err
		}
	}
	p, err := s.prepare(inv)
	if err != nil {
		return err
	}
	e, pool, err := s.env(p.Cluster)
	if err != nil {
		return err
	}
	defer pool.Close()
	stored, _, err := s.state.Secrets()
	if err != nil {
		return err
	}
	if stored == nil {
		return s.noState()
	}
	seen, err := status.Read(ctx, e, stored, s.parallel)
	if err != nil {
		return err
	}
	if seen.UnfinishedRun, err = s.unfinishedRun(); err != nil {
		return err
	}
	if err := view.NewOutput(s.streams.Out, s.format).Status(shownStatus(seen)); err != nil {
		return err
	}
	return seen.Verdict()
}

func shownStatus(s status.Status) view.Status {
	out := view.Status{
		At: s.At, Cluster: s.Cluster, KubernetesVersion: s.Kubernetes, UnfinishedRun: s.UnfinishedRun, Problems: s.Problems, Former: s.Former,
	}
	for _, h := range s.Hosts {
		out.Hosts = append(out.Hosts, shownHost(h))
	}
	for _, m := range s.Etcd {
		out.Etcd = append(out.Etcd, view.EtcdMember(m))
	}
	for _, a := range s.API {
		out.API = append(out.API, view.APIServer(a))
	}
	return out
}

// unfinishedRun tells of the last run, when it did not come to its end, or not yet.
func (s *session) unfinishedRun() (string, error) {
	journal, err := s.state.Journal()
	if err != nil {
		return "", err
	}
	run, found, err := journal.LastRun()
	if err != nil || !found || run.Result == state.Done {
		return "", err
	}
	text := fmt.Sprintf("%s %s, begun %s", run.Command, run.ID, run.Started.Format("2006-01-02 15:04:05"))
	if run.Finished() {
		return fmt.Sprintf("%s: %s: run it again to go on", text, run.Result), nil
	}
	who, going, err := s.state.LockOwner()
	if err == nil && going {
		return fmt.Sprintf("%s: goes on, process %d of %s@%s", text, who.PID, who.User, who.Machine), nil
	}
	return text + ": was cut off; run it again to go on", err
}

func shownHost(h status.Host) view.HostStatus {
	out := view.HostStatus{
		Name: h.Name, Role: h.Role, Address: h.Address, Reachable: h.Reachable, Node: h.Node, OnDisk: h.OnDisk, Running: h.Running,
		CertName: h.CertName, CertEnd: h.CertEnd,
	}
	for _, c := range h.Components {
		out.Components = append(out.Components, view.ComponentVersion(c))
	}
	return out
}
