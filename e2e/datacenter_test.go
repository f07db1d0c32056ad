//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clusterctl/e2e/load"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/local"
	"clusterctl/provision/spec"
)

// vpc is the network of the datacenter and of the VPC in it, so that both agree about addresses.
const vpc = "10.91.0.0/16"

// datacenter is what runs behind the stand-in for a cloud, which itself only writes down what there
// is: each instance is a machine of this one with the instance's name and address.
type datacenter struct {
	cloud    shape
	cluster  string // that has its instances here
	world    *standin.World
	provider *local.Provider
	spec     *spec.Cluster            // of the machines
	runs     map[string]standin.Thing // instances by id
	routed   map[string]bool          // public addresses
}

// newDatacenter begins to follow a world that has nothing in it.
func newDatacenter(t *testing.T, cloud shape, cluster string) *datacenter {
	t.Helper()
	dir := filepath.Join(shared.work, "datacenter")
	if err := os.RemoveAll(filepath.Join(shared.work, cluster)); err != nil { // of other machines
		t.Fatal(err)
	}
	world := &standin.World{Dir: filepath.Join(dir, "world")}
	text := "apiVersion: clusterctl/v1alpha1\nkind: Cluster\nmetadata: {name: e2e-datacenter}\nspec:\n  kubernetes: {version: " + kubernetesVersion +
		"}\n  provider: {local: {subnet: " + vpc + "}}\n  controlPlane: {replicas: 1}\n"
	s, err := spec.Parse(filepath.Join(dir, "machines.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := &datacenter{cloud: cloud, cluster: cluster, world: world, provider: machines(t, s), spec: s, runs: map[string]standin.Thing{}, routed: map[string]bool{}}
	s.Spec.ControlPlane = spec.ControlPlane{} // the machines are those of the world
	if err := errors.Join(d.provider.Destroy(t.Context(), s, event.Discard), os.RemoveAll(dir), os.MkdirAll(world.Dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	stop := load.Every(context.WithoutCancel(t.Context()), 50*time.Millisecond, func(ctx context.Context) {
		if err := d.follow(ctx); err != nil {
			t.Errorf("datacenter: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		if err := d.provider.Destroy(context.Background(), s, event.Discard); err != nil {
			t.Errorf("the machines are left behind: %v", err)
		}
	})
	return d
}

// follow makes the machines what the world says: those whose instances are gone go first.
func (d *datacenter) follow(ctx context.Context) error {
	things, err := d.world.Things()
	if err != nil {
		return err
	}
	there := map[string]standin.Thing{}
	for _, th := range things {
		if th.Type == d.cloud.machine {
			there[th.ID] = th
		}
	}
	for id, th := range d.runs {
		if _, ok := there[id]; !ok {
			if err := d.terminate(ctx, th); err != nil {
				return err
			}
		}
	}
	if err := d.start(ctx, there, things); err != nil {
		return err
	}
	return d.route(ctx, things)
}

// start makes the machines that are missing, all at once, and lets each boot.
func (d *datacenter) start(ctx context.Context, there map[string]standin.Thing, things []standin.Thing) error {
	var fresh []standin.Thing
	for id, th := range there {
		if _, ok := d.runs[id]; !ok {
			fresh = append(fresh, th)
			d.runs[id] = th
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	d.plan()
	inv, err := d.provider.Ensure(ctx, d.spec, event.Discard)
	if err != nil {
		return err
	}
	fleet := sshhost.NewFleet(sshhost.Options{})
	defer fleet.Close()
	return host.ForEach(ctx, len(fresh), fresh, func(ctx context.Context, th standin.Thing) error {
		if err := d.world.SetRunning(th.ID, true); err != nil {
			return err
		}
		h, _ := inv.Get(th.Name)
		handle := fleet.Open(h)
		defer handle.Close()
		return d.boot(ctx, handle, th, things)
	})
}

// plan lists the machines that run in the spec of the machines.
func (d *datacenter) plan() {
	d.spec.Spec.ControlPlane.Hosts = nil
	for _, th := range d.runs {
		d.spec.Spec.ControlPlane.Hosts = append(d.spec.Spec.ControlPlane.Hosts, spec.Host{Name: th.Name, Address: d.address(th)})
	}
}

// address is the instance's own, or, for the only one that asks for none, the bastion, any.
func (d *datacenter) address(th standin.Thing) string {
	return cmp.Or(d.cloud.private(th), "10.91.240.10")
}

// boot does what the image does at the first boot: the login user with the key, and what the machine
// was told to do.
func (d *datacenter) boot(ctx context.Context, h host.Host, th standin.Thing, things []standin.Thing) error {
	first, err := d.cloud.first(th, things)
	if err != nil {
		return fmt.Errorf("first boot of %s: %w", th.Name, err)
	}
	script := slices.Concat([]string{"set -e", "user=" + first.user, "useradd --create-home --shell /bin/bash $user", "echo \"$user ALL=(ALL) NOPASSWD: ALL\" >/etc/sudoers.d/$user"},
		first.commands,
		// The last of all: who may log in finds the rest done.
		[]string{"install -d -m 700 -o $user -g $user /home/$user/.ssh", "cat >/home/$user/.ssh/authorized_keys", "chown $user: /home/$user/.ssh/authorized_keys"})
	_, err = h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", strings.Join(script, "\n")}, Stdin: strings.NewReader(first.key + "\n")})
	return err
}

// terminate deletes the machine of an instance that is gone, with its disks.
func (d *datacenter) terminate(ctx context.Context, th standin.Thing) error {
	delete(d.runs, th.ID)
	d.plan()
	return errors.Join(d.provider.Discard(ctx, d.spec, th.Name, event.Discard), d.world.SetRunning(th.ID, false))
}

// route brings public addresses to their machines. The way to them goes with the network.
func (d *datacenter) route(ctx context.Context, things []standin.Thing) error {
	for _, th := range d.runs {
		public := d.cloud.public(th, things)
		if public == "" || d.routed[public] {
			continue
		}
		inv, err := d.provider.Inventory(ctx, d.spec)
		if err != nil {
			return err
		}
		h, _ := inv.Get(th.Name)
		machine := sshhost.NewFleet(sshhost.Options{}).Open(h)
		defer machine.Close()
		if _, err := machine.Run(ctx, host.Cmd{Args: []string{"ip", "address", "add", public + "/32", "dev", "eth0"}}); err != nil {
			return err
		}
		if out, err := exec.Command("ip", "route", "replace", public+"/32", "via", h.Address.String()).CombinedOutput(); err != nil {
			return fmt.Errorf("route to %s: %w: %s", public, err, out)
		}
		d.routed[public] = true
	}
	return nil
}
