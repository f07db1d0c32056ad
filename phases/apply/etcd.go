package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clusterctl/components/resource"
	"clusterctl/phases/etcdapi"
	"clusterctl/phases/plan"
)

// EtcdAPI is etcd's member list.
type EtcdAPI interface {
	List(ctx context.Context, patience time.Duration) (etcdapi.Members, error)
	Add(ctx context.Context, peerURL string) error
	Promote(ctx context.Context, id uint64) error
	Remove(ctx context.Context, id uint64) error
	Update(ctx context.Context, id uint64, peerURL string) error
	Lead(ctx context.Context, to uint64) error
}

var _ EtcdAPI = (*etcdapi.Cluster)(nil)

const (
	patience      = 5 * time.Second  // for a member to answer
	settleTimeout = 30 * time.Second // for members to know each other, and for a learner to catch up with what was written meanwhile
)

// IsEtcd tells whether a step changes etcd's member list.
func IsEtcd(s plan.Step) bool {
	switch s.Key.Kind {
	case resource.KindMember, resource.KindVoter, resource.KindNoMember:
		return true
	}
	return false
}

// Etcd does steps on the member list in order. Each looks at the list first, so that one that was
// done already does nothing.
func Etcd(ctx context.Context, api EtcdAPI, steps []plan.Step, done func(plan.Step)) error {
	for _, s := range steps {
		list, err := api.List(ctx, patience)
		if err == nil {
			err = changeList(ctx, api, list, s.Want)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.Verb, s.Want.Title(), err)
		}
		done(s)
	}
	return nil
}

func changeList(ctx context.Context, api EtcdAPI, list etcdapi.Members, want resource.Resource) error {
	switch r := want.(type) {
	case resource.Member:
		return addMember(ctx, api, list, r)
	case resource.Voter:
		m, ok := list.Find(r.Name, r.PeerURL)
		switch {
		case !ok:
			return errors.New("etcd's member list does not have it")
		case m.Voter:
			return nil
		}
		return settled(ctx, func(ctx context.Context) error { return api.Promote(ctx, m.ID) })
	case resource.NoMember:
		return removeMember(ctx, api, list, r)
	}
	return fmt.Errorf("no operation for a %s", want.Key().Kind)
}

func addMember(ctx context.Context, api EtcdAPI, list etcdapi.Members, want resource.Member) error {
	if m, ok := list.Find(want.Name, want.PeerURL); ok {
		if m.PeerURL == want.PeerURL {
			return nil
		}
		return api.Update(ctx, m.ID, want.PeerURL)
	}
	if l, ok := list.Learner(); ok {
		return fmt.Errorf("etcd member %s is a learner still: there is never a second one", l.Title())
	}
	return settled(ctx, func(ctx context.Context) error { return api.Add(ctx, want.PeerURL) })
}

// settled asks again while etcd says that its members are not where they must be before its list changes.
func settled(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := do(ctx)
		if !errors.Is(err, etcdapi.ErrNotReady) && !errors.Is(err, etcdapi.ErrUnsettled) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

func removeMember(ctx context.Context, api EtcdAPI, list etcdapi.Members, want resource.NoMember) error {
	m, ok := list.Find(want.Name, want.PeerURL)
	if !ok {
		return nil
	}
	if err := list.MayRemove(m.ID); err != nil {
		return err
	}
	if m.Leader {
		for _, o := range list.Without(m.ID).Voters() {
			if o.Alive {
				if err := api.Lead(ctx, o.ID); err != nil {
					return err
				}
				break
			}
		}
	}
	return settled(ctx, func(ctx context.Context) error { return api.Remove(ctx, m.ID) })
}
