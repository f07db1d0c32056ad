package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"clusterctl/provision/cloud"
	"clusterctl/provision/cloud/aws"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/event"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/spec"
)

// cloudMachines is how many machines the cloud has, three of them control planes.
const cloudMachines = 50

// measureCloud asks Pulumi's engine, with a stand-in for the plugin, what a plan and an up that has
// nothing to do ask it. The hosts are one SSH server of this process, which says yes to everything.
func measureCloud(ctx context.Context, b *bench) ([]row, error) {
	server, err := hosttest.Serve(ctx, hosttest.ServerOptions{Exec: func(s hosttest.Session) int { s.Begin(); return 0 }})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Addr().String())
	}
	p, err := b.standin(sshhost.Options{Dial: dial, Home: b.work})
	if err != nil {
		return nil, err
	}
	s, err := spec.Parse(filepath.Join(b.work, "cloud.yaml"), []byte(cloudSpec()))
	if err != nil {
		return nil, err
	}
	took := func(do func() error) (seconds float64) {
		if err != nil {
			return 0
		}
		began := time.Now()
		err = do()
		return time.Since(began).Seconds()
	}
	ensure := func() error { _, err := p.Ensure(ctx, s, event.Discard); return err }
	made := took(ensure)
	plan := took(func() error { _, err := p.Preview(ctx, s); return err })
	again := took(ensure)
	if err != nil {
		return nil, err
	}
	return []row{
		figure(fmt.Sprintf("engine: make %d machines of a stand-in", cloudMachines), made, "s", 0),
		figure("engine: plan of them without changes", plan, "s", 0),
		figure("engine: up of them without changes, with a login to each", again, "s", 0),
	}, nil
}

// standin gives a provider whose cloud is a directory.
func (b *bench) standin(o sshhost.Options) (*cloud.Provider, error) {
	cache, world := filepath.Join(b.work, "cache"), filepath.Join(b.work, "world")
	home := filepath.Join(cache, "pulumi")
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cli := filepath.Join(b.cache, "pulumi", "bin", "pulumi")
	if _, err := os.Stat(cli); err != nil {
		return nil, fmt.Errorf("%w; run: make pulumi", err)
	}
	if err := errors.Join(
		os.MkdirAll(filepath.Join(home, "bin"), 0o700), os.MkdirAll(world, 0o700), os.Symlink(cli, filepath.Join(home, "bin", "pulumi")),
		standin.Install(self, home, "aws", aws.Version),
	); err != nil {
		return nil, err
	}
	return cloud.New(cloud.Options{
		StateDir: filepath.Join(b.work, "cloud"), CacheDir: cache, SSH: o,
		Env: []string{standin.DirVariable + "=" + world, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true"},
	}), nil
}

func cloudSpec() string {
	return fmt.Sprintf(`apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: cloud}
spec:
  kubernetes: {version: %s}
  provider:
    aws:
      region: eu-central-1
      zones: [eu-central-1a, eu-central-1b, eu-central-1c]
      access: {ssh: private, sshFrom: [10.9.0.0/16]}
  controlPlane: {replicas: 3}
  workers: [{name: web, replicas: %d}]
`, kubernetesVersion, cloudMachines-3)
}
