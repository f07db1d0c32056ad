package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"clusterctl/cmd/internal/view"
	"clusterctl/phases/lock"
	"clusterctl/phases/state"
	"clusterctl/provision"
	"clusterctl/provision/host"

	"github.com/spf13/cobra"
)

func newUnlockCommand(o *clusterOptions) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "unlock SPEC",
		Short: "Show who holds the cluster's lock, and take it away",
		Long: "A run that changes the cluster holds a lock on its control planes and in the state directory. It ends\n" +
			"with the run, however that ends: at once when the process is killed, after a minute when its machine\n" +
			"falls silent. This command shows who holds it, asks, and takes it away on the control planes: the run\n" +
			"that held it stops before its next change. Nothing is asked when nobody holds it. In a cloud the state\n" +
			"of the machines has a lock of its own: one that a run on another machine left is taken away, too;\n" +
			"one of a process that runs on this machine never is.",
		Example: "  clusterctl unlock cluster.yaml\n  clusterctl unlock cluster.yaml --yes -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.open(args[0])
			if err != nil {
				return err
			}
			return s.unlock(cmd.Context(), yes)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (s *session) unlock(ctx context.Context, yes bool) error {
	inv, err := s.provider.Inventory(ctx, s.spec)
	if err != nil {
		return err
	}
	pool := host.NewPool(inv, s.fleet.Open)
	defer pool.Close()
	hosts, err := planes(pool, inv)
	if err != nil {
		return err
	}
	owners, asked := s.owners(ctx, hosts)
	here, local, err := s.state.LockOwner()
	if err != nil {
		return err
	}
	locker, _ := s.provider.(provision.Locker)
	var provider []provision.Lock
	if locker != nil {
		provider, err = locker.Locks(ctx, s.spec)
		asked = errors.Join(asked, err)
	}
	if err := view.NewOutput(s.streams.Out, s.format).Locks(s.shownLocks(owners, provider, here, local)); err != nil {
		return err
	}
	if len(owners)+len(provider) > 0 {
		if err := confirm(ctx, s.streams, "Take the lock away? Its run stops before its next change.", yes); err != nil {
			return err
		}
		err := s.breakAll(ctx, hosts, owners)
		if len(provider) > 0 {
			err = errors.Join(err, locker.Unlock(ctx, s.spec, provider))
		}
		return errors.Join(err, asked)
	}
	if local { // the kernel's lock on a file goes with its process only
		return errors.Join(&state.LockedError{Path: shorten(s.state.Path()), Holder: here}, asked)
	}
	return asked
}

// owners asks all control planes at the same time. Those that cannot be asked are an error, which
// does not keep the others from being unlocked.
func (s *session) owners(ctx context.Context, hosts []host.Host) ([]lock.Owner, error) {
	var mu sync.Mutex
	found := map[string]lock.Owner{}
	err := host.ForEach(ctx, s.parallel, hosts, func(ctx context.Context, h host.Host) error {
		owner, held, err := lock.OwnerOn(ctx, h, lock.Options{})
		mu.Lock()
		defer mu.Unlock()
		if held {
			found[h.Name()] = owner
		}
		return err
	})
	var out []lock.Owner
	for _, h := range hosts {
		if owner, ok := found[h.Name()]; ok {
			out = append(out, owner)
		}
	}
	return out, err
}

func (s *session) breakAll(ctx context.Context, hosts []host.Host, owners []lock.Owner) error {
	return host.ForEach(ctx, s.parallel, owners, func(ctx context.Context, owner lock.Owner) error {
		i := slices.IndexFunc(hosts, func(h host.Host) bool { return h.Name() == owner.Host })
		return lock.Break(ctx, hosts[i], owner, lock.Options{})
	})
}

func (s *session) shownLocks(owners []lock.Owner, provider []provision.Lock, here state.Holder, local bool) view.Locks {
	out := view.Locks{Cluster: s.spec.Metadata.Name}
	for _, o := range owners {
		out.Locks = append(out.Locks, shownLock("host "+o.Host, o.Holder))
	}
	for _, l := range provider {
		out.Locks = append(out.Locks, view.Lock{Where: l.Where, Holder: l.User + "@" + l.Machine, Process: l.PID, Since: l.Since, Command: "pulumi"})
	}
	if local {
		out.Locks = append(out.Locks, shownLock("state directory "+shorten(s.state.Path()), here))
	}
	return out
}

func shownLock(where string, h state.Holder) view.Lock {
	return view.Lock{Where: where, Holder: fmt.Sprintf("%s@%s", h.User, h.Machine), Process: h.PID, Since: h.Since, Command: h.Command}
}
