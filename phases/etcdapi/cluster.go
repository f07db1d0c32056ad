package etcdapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Endpoint is a host where a member may run.
type Endpoint struct {
	Name string
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Cluster asks and changes the member list through whichever member can.
type Cluster struct {
	cred Credentials

	mu   sync.Mutex
	ends []Endpoint // those that answered last time first
}

// NewCluster gives the cluster behind hosts; it connects to none.
func NewCluster(ends []Endpoint, cred Credentials) *Cluster {
	return &Cluster{ends: slices.Clone(ends), cred: cred}
}

// ordered gives the endpoints in the order in which they are tried.
func (c *Cluster) ordered() []Endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ends)
}

// prefer puts endpoints that answered before those that did not.
func (c *Cluster) prefer(ends []Endpoint, answers []answer) {
	var good, bad []Endpoint
	for i, a := range answers {
		if a.agreed {
			good = append(good, ends[i])
		} else {
			bad = append(bad, ends[i])
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(good, bad...)
}

// answer is what one endpoint said.
type answer struct {
	status *clientv3.StatusResponse
	list   *clientv3.MemberListResponse
	agreed bool // a quorum stands behind the list
	err    error
}

// List asks all endpoints at the same time and takes what a quorum agreed on, or else what any
// member remembers. One that does not answer within patience is not alive.
func (c *Cluster) List(ctx context.Context, patience time.Duration) (Members, error) {
	ends := c.ordered()
	answers := make([]answer, len(ends))
	var wg sync.WaitGroup
	for i, end := range ends {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			answers[i] = c.ask(ctx, end)
		})
	}
	wg.Wait()
	c.prefer(ends, answers)
	var best answer
	var errs []error
	for i, a := range answers {
		if a.list != nil && (best.list == nil || a.agreed && !best.agreed) {
			best = a
		}
		if a.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", ends[i].Name, a.err))
		}
	}
	if best.list == nil {
		return nil, fmt.Errorf("ask etcd for its members: %w", errors.Join(errs...))
	}
	return entries(best, answers), nil
}

func entries(best answer, answers []answer) Members {
	var out Members
	for _, m := range best.list.Members {
		e := Entry{ID: m.ID, Name: m.Name, Voter: !m.IsLearner, Started: len(m.ClientURLs) > 0}
		if len(m.PeerURLs) > 0 {
			e.PeerURL = m.PeerURLs[0]
		}
		for _, a := range answers {
			if a.status == nil || a.status.Header.MemberId != m.ID {
				continue
			}
			e.Alive = a.status.Leader != 0
			e.Leader = a.status.Leader == m.ID
			e.Index = a.status.RaftIndex
		}
		out = append(out, e)
	}
	return out
}

// client connects to an endpoint. Where nothing listens it says so at once: the library would try
// again until the time is over.
func (c *Cluster) client(ctx context.Context, end Endpoint) (*clientv3.Client, error) {
	conn, err := end.Dial(ctx, "tcp", "127.0.0.1:2379")
	if err != nil {
		return nil, err
	}
	_ = conn.Close()
	return connect(ctx, end.Dial, c.cred)
}

// ask is one endpoint's view. A learner answers for itself only.
func (c *Cluster) ask(ctx context.Context, end Endpoint) (a answer) {
	client, err := c.client(ctx, end)
	if err != nil {
		return answer{err: err}
	}
	defer client.Close()
	if a.status, a.err = client.Status(ctx, endpoint); a.err != nil || a.status.IsLearner {
		return a
	}
	if a.status.Leader != 0 {
		agree, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if a.list, a.err = client.MemberList(agree); a.err == nil {
			a.agreed = true
			return a
		}
	}
	a.list, a.err = client.MemberList(ctx, clientv3.WithSerializable())
	return a
}

// each tries a change on one endpoint after the other until one takes it. Every change may be
// asked for again.
func (c *Cluster) each(ctx context.Context, what string, do func(context.Context, *clientv3.Client) error) error {
	var errs []error
	for _, end := range c.ordered() {
		err := c.on(ctx, end, do)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", end.Name, err))
		if ctx.Err() != nil || isAnswer(err) {
			break
		}
	}
	err := fmt.Errorf("%s: %w", what, errors.Join(errs...))
	if errors.Is(err, rpctypes.ErrUnhealthy) {
		return fmt.Errorf("%w: %w", ErrUnsettled, err)
	}
	return err
}

// ErrUnsettled says that etcd changes no list yet: a voter is not connected to the others, or for less
// than five seconds (etcd, server/etcdserver: HealthInterval).
var ErrUnsettled = errors.New("a voting member is not connected to the others, or was not long enough")

func (c *Cluster) on(ctx context.Context, end Endpoint, do func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := c.client(ctx, end)
	if err != nil {
		return err
	}
	defer client.Close()
	st, err := client.Status(ctx, endpoint)
	if err != nil {
		return err
	}
	if st.IsLearner || st.Leader == 0 {
		return errors.New("this member cannot change the list: it is a learner, or has no leader")
	}
	return do(ctx, client)
}

// isAnswer tells whether the cluster itself said no: another member would say the same.
func isAnswer(err error) bool {
	for _, known := range []error{
		rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrTooManyLearners, rpctypes.ErrUnhealthy, rpctypes.ErrMemberNotEnoughStarted,
		rpctypes.ErrPeerURLExist, rpctypes.ErrMemberExist, rpctypes.ErrMemberNotFound,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// Add adds a learner.
func (c *Cluster) Add(ctx context.Context, peerURL string) error {
	return c.each(ctx, "add etcd learner "+peerURL, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberAddAsLearner(ctx, []string{peerURL})
		return err
	})
}

// ErrNotReady says that a learner has not caught up with the leader yet.
var ErrNotReady = errors.New("the learner has not caught up yet")

// Promote makes a learner a voter.
func (c *Cluster) Promote(ctx context.Context, id uint64) error {
	err := c.each(ctx, fmt.Sprintf("promote etcd member %x", id), func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberPromote(ctx, id)
		return err
	})
	if errors.Is(err, rpctypes.ErrMemberLearnerNotReady) {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	return err
}

// Remove takes a member out of the list; one that is not in it is fine.
func (c *Cluster) Remove(ctx context.Context, id uint64) error {
	err := c.each(ctx, fmt.Sprintf("remove etcd member %x", id), func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberRemove(ctx, id)
		return err
	})
	if errors.Is(err, rpctypes.ErrMemberNotFound) {
		return nil
	}
	return err
}

// Update gives a member another peer URL.
func (c *Cluster) Update(ctx context.Context, id uint64, peerURL string) error {
	return c.each(ctx, fmt.Sprintf("update etcd member %x", id), func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberUpdate(ctx, id, []string{peerURL})
		return err
	})
}

// Lead has the leader hand the lead to another member: only the leader itself can.
func (c *Cluster) Lead(ctx context.Context, to uint64) error {
	return c.each(ctx, fmt.Sprintf("hand etcd's lead to member %x", to), func(ctx context.Context, client *clientv3.Client) error {
		st, err := client.Status(ctx, endpoint)
		switch {
		case err != nil:
			return err
		case st.Leader == to:
			return nil
		case st.Leader != st.Header.MemberId:
			return errors.New("this member does not lead")
		}
		_, err = client.MoveLeader(ctx, to)
		return err
	})
}
