package sshhost

import (
	"encoding/json"
	"errors"
	"sync"

	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// Fleet makes hosts that share one connection per bastion and ask once for the passphrase of a
// key. Its Open fits host.NewPool. It is safe for concurrent use.
type Fleet struct {
	o    Options
	keys *keyring

	mu    sync.Mutex
	jumps map[string]*Host // by the bastion's settings
}

// NewFleet makes an empty fleet.
func NewFleet(o Options) *Fleet {
	o = o.withDefaults()
	return &Fleet{o: o, keys: newKeyring(o), jumps: make(map[string]*Host)}
}

// Open makes a host; it connects when it is first used.
func (f *Fleet) Open(h inventory.Host) host.Host {
	out := newHost(h.Name, h.SSH, f.o, f.keys)
	if b := h.SSH.Bastion; b != nil {
		out.jump = f.bastion(*b)
	}
	return out
}

func (f *Fleet) bastion(s inventory.SSH) *Host {
	key, _ := json.Marshal(s) // plain strings and numbers: cannot fail
	f.mu.Lock()
	defer f.mu.Unlock()
	j, ok := f.jumps[string(key)]
	if !ok {
		j = newJump(s, f.o, f.keys)
		f.jumps[string(key)] = j
	}
	return j
}

// Close ends the connections to the bastions. Close the hosts first.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, j := range f.jumps {
		errs = append(errs, j.Close())
	}
	return errors.Join(errs...)
}
