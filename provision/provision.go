// Package provision says what a provider of hosts must do. A provider makes machines and says
// how they are reached; it knows nothing of what will run on them.
package provision

import (
	"context"
	"io/fs"
	"time"

	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Verb says what happens to a thing that a provider owns.
type Verb = string

const (
	Create Verb = "create" // it is not there yet
	Start  Verb = "start"  // it is there, switched off or never used
	Keep   Verb = "keep"   // it is there and stays
	Delete Verb = "delete" // it is there and the spec no longer names it

	Update  Verb = "update"  // it is there and is changed
	Replace Verb = "replace" // it is there, is deleted, and made anew
	Adopt   Verb = "adopt"   // it is there, made by a run that was cut off
)

// Change is one line of a preview.
type Change struct {
	Verb   Verb   `json:"verb"`
	Kind   string `json:"kind"` // what it is: host, network, ...
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"` // for people: address, reason
}

// Program is a file that a new host may have from the start, as if its machine image held it. Whoever
// sets a host up finds it by its digest and has nothing to send.
type Program struct {
	Path   string // on the host, absolute
	Mode   fs.FileMode
	SHA256 string // of its content, lower-case hex
	Source string // the file on this machine
}

// Provider makes the hosts of a cluster.
type Provider interface {
	// Inventory gives the hosts as they are, or will be once they are made. It contacts none, and
	// changes nothing.
	Inventory(ctx context.Context, s *spec.Cluster) (inventory.Inventory, error)
	// Preview says what Ensure (and Prune, for the verb delete) would do. It reads only.
	Preview(ctx context.Context, s *spec.Cluster) ([]Change, error)
	// Ensure makes or starts every host that the spec names and returns when all of them
	// answer. It may be interrupted at any point and run again; hosts that are there and
	// running are left alone. It never deletes: see Pruner.
	Ensure(ctx context.Context, s *spec.Cluster, to event.Sink) (inventory.Inventory, error)
	// Destroy removes everything of the cluster. It goes on after an interruption, and is
	// content when there is nothing.
	Destroy(ctx context.Context, s *spec.Cluster, to event.Sink) error
}

// Lock is one that a provider's own state has. It outlives a holder that was killed.
type Lock struct {
	Where, User, Machine string
	PID                  int // on the holder's machine
	Since                time.Time
}

// Locker is a Provider whose state has locks of its own. Unlock takes away what Locks gave, but from
// no holder that runs on this machine.
type Locker interface {
	Locks(ctx context.Context, s *spec.Cluster) ([]Lock, error)
	Unlock(ctx context.Context, s *spec.Cluster, locks []Lock) error
}

// Discarder is a Provider that can delete one host of the spec, so that Ensure makes it anew and
// leaves the others as they are. It is content when there is none.
type Discarder interface {
	Discard(ctx context.Context, s *spec.Cluster, host string, to event.Sink) error
}

// Pruner is a Provider that can remove single hosts. Prune deletes the hosts that the spec no
// longer names; it is called after their nodes were drained and taken out of the cluster, which
// is why Ensure does not do it.
type Pruner interface {
	Prune(ctx context.Context, s *spec.Cluster, to event.Sink) error
}
