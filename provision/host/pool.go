package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"clusterctl/provision/inventory"
)

// Pool gives the hosts of an inventory by name. Each is opened when it is first asked for and
// stays open until Close. It is safe for concurrent use.
type Pool struct {
	inv  inventory.Inventory
	open func(inventory.Host) Host

	mu    sync.Mutex
	hosts map[string]Host
}

// NewPool makes a pool that opens hosts with open.
func NewPool(inv inventory.Inventory, open func(inventory.Host) Host) *Pool {
	return &Pool{inv: inv, open: open, hosts: make(map[string]Host)}
}

// Get gives the host with that name.
func (p *Pool) Get(name string) (Host, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h, ok := p.hosts[name]; ok {
		return h, nil
	}
	entry, ok := p.inv.Get(name)
	if !ok {
		return nil, fmt.Errorf("open host %q: it is not in the inventory; it has %v", name, p.inv.Names())
	}
	h := p.open(entry)
	p.hosts[name] = h
	return h, nil
}

// Close closes all hosts that were opened; a later Get opens them again.
func (p *Pool) Close() error {
	p.mu.Lock()
	open := p.hosts
	p.hosts = make(map[string]Host)
	p.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if err := open[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
