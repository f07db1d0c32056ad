package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
)

// maker has what all hosts of one Ensure share.
type maker struct {
	*Provider
	layout  layout
	claim   claim
	machine machine
	keys    keys
	layers  []string
	to      event.Sink
}

// ensureHost makes one host, starts one that is off, or looks after one that runs.
func (m maker) ensureHost(ctx context.Context, h inventory.Host) error {
	began := time.Now()
	verb, err := m.verb(ctx, m.layout, h.Name)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s host %s (%s)", verb, h.Name, h.Address)
	step(m.to, event.StepStart, h.Name, text, 0, nil)
	err = m.bring(ctx, h, verb)
	if verb == provision.Keep && errors.Is(err, errEnded) {
		// It was ending when it was looked at: a run that was killed had cut its power just before.
		err = m.bring(ctx, h, provision.Start)
	}
	step(m.to, event.StepEnd, h.Name, text, time.Since(began), err)
	m.opts.Log.DebugContext(ctx, "host ensured", "host", h.Name, "verb", verb, "took", time.Since(began), "error", err)
	return err
}

func (m maker) bring(ctx context.Context, h inventory.Host, verb provision.Verb) error {
	d := m.disk(m.layout, h.Name)
	if verb != provision.Keep {
		if err := m.powerOff(ctx, m.layout, h.Name); err != nil {
			return fmt.Errorf("clear what is left of host %s: %w", h.Name, err)
		}
		layers, err := d.prepare(m.layers, h.Address)
		if err != nil {
			return err
		}
		if err := d.mount(layers); err != nil {
			return err
		}
	}
	if err := ensurePort(m.layout, h); err != nil {
		return err
	}
	if err := writeIdentity(d.rootfs(), m.layout, h, m.keys); err != nil {
		return err
	}
	if verb != provision.Keep {
		if err := m.boot(ctx, h); err != nil {
			return err
		}
	}
	return m.waitForSSH(ctx, m.layout, h)
}

// verb says what a host that the spec names needs.
func (p *Provider) verb(ctx context.Context, l layout, host string) (provision.Verb, error) {
	if !isDir(p.disk(l, host).dir) {
		return provision.Create, nil
	}
	running, err := p.running(ctx, l, host)
	if running {
		return provision.Keep, err
	}
	return provision.Start, err
}

// removeHost deletes a host and everything of it.
func (p *Provider) removeHost(ctx context.Context, l layout, host string) error {
	if err := p.powerOff(ctx, l, host); err != nil {
		return err
	}
	if err := removePort(l, host); err != nil {
		return err
	}
	return p.disk(l, host).remove(filepath.Join(p.removedDir(l), host))
}
