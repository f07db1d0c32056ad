package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"time"

	"clusterctl/cmd/internal/view"
	"clusterctl/components"
	"clusterctl/components/bundle"
	"clusterctl/components/release"
	"clusterctl/phases"
	"clusterctl/phases/state"
	"clusterctl/phases/upgrade"
	"clusterctl/provision"
	"clusterctl/provision/cloud"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
	"clusterctl/provision/local"
	"clusterctl/provision/spec"
	"clusterctl/provision/static"

	"github.com/spf13/cobra"
)

// clusterOptions are the flags of every command that works on a cluster.
type clusterOptions struct {
	ctx       context.Context // the command's, set before it runs; its state lives as long
	streams   Streams
	log       *slog.Logger
	bundleDir string
	parallel  int // hosts
	clusters  int
	format    view.Format
	policy    upgrade.Request // what is meant beside the version
	asked     *prompts
}

// prompts are the questions that were asked, for all clusters of a command.
type prompts struct {
	asking    sync.Mutex // one question at a time
	passwords map[string]string
}

func (o *clusterOptions) prompts() *prompts {
	if o.asked == nil {
		o.asked = &prompts{passwords: map[string]string{}}
	}
	return o.asked
}

func (o *clusterOptions) addFlags(cmd *cobra.Command, formats ...view.Format) {
	cmd.Flags().StringVar(&o.bundleDir, "bundle-dir", "", "the bundle store (default $CLUSTERCTL_CACHE/bundles or the user's cache)")
	cmd.Flags().IntVar(&o.parallel, "parallel", 16, "`hosts` worked on at the same time")
	addOutputFlag(cmd, &o.format, formats...)
}

// session is one command's work on one cluster.
type session struct {
	*clusterOptions
	spec     *spec.Cluster
	state    *state.Dir
	bundle   *bundle.Bundle
	former   *bundle.Bundle // of the version that the cluster comes from, while that is emulated
	provider provision.Provider
	fleet    *sshhost.Fleet
	removal  removal

	command    string                    // for the lock and the journal; empty: up
	pauseAfter string                    // host or phase behind which the run ends; empty: none
	untouched  func(inventory.Host) bool // workers that stay as they are; nil: none
	instead    string                    // version in the spec file, where another one was asked for

	replacing replacement
	looked    *openHosts // from a look on, until they are used again or the command is over
}

// openHosts are hosts that are logged in to.
type openHosts struct {
	inv  inventory.Inventory
	pool *host.Pool
}

// close ends the connections that nobody used again.
func (s *session) close() {
	if s.looked != nil {
		_ = s.looked.pool.Close() // nothing more is asked of them
		s.looked = nil
	}
}

// open reads the spec and finds everything that belongs to it. It changes nothing.
func (o *clusterOptions) open(path string) (*session, error) {
	c, err := spec.Load(path)
	if err != nil {
		return nil, err
	}
	return o.session(c)
}

// session begins the work on a cluster of a spec that was read.
func (o *clusterOptions) session(c *spec.Cluster) (*session, error) {
	if _, err := release.For(c.Spec.Kubernetes.Version); err != nil {
		return nil, &UsageError{fmt.Errorf("%s: spec.kubernetes.version: %w", c.Path, err)}
	}
	s := &session{clusterOptions: o, spec: c}
	var err error
	if s.state, err = o.openState(o.ctx, c); err != nil {
		return nil, err
	}
	o.prompts() // made here, before hosts ask side by side
	s.fleet = sshhost.NewFleet(s.ssh())
	return s, s.chooseProvider()
}

// ssh says how hosts are logged in to.
func (s *session) ssh() sshhost.Options {
	return sshhost.Options{Log: s.log, AgentSocket: os.Getenv("SSH_AUTH_SOCK"), SudoPassword: s.sudoPassword, Passphrase: s.passphrase}
}

func (s *session) chooseProvider() error {
	if s.spec.Spec.Provider.SSH != nil {
		s.provider = static.New()
		return nil
	}
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	if s.spec.Spec.Provider.Cloud() != nil {
		s.provider = cloud.New(cloud.Options{StateDir: s.state.Path(), CacheDir: cache, SSH: s.ssh(), Log: s.log})
		return nil
	}
	opts := local.Options{StateDir: s.state.Path(), CacheDir: cache, Log: s.log}
	if b, err := s.openBundle(); err == nil {
		if a, ok := b.Artifact("runc"); ok {
			opts.Runc = b.Path(a)
		}
	}
	s.provider = local.New(opts)
	return nil
}

// preinstall has local hosts that are made from now on hold the bundle's programs from the start.
func (s *session) preinstall(c *phases.Cluster) error {
	p, ok := s.provider.(*local.Provider)
	if !ok {
		return nil
	}
	b, err := s.openBundle()
	if err != nil {
		return err
	}
	bundles := []*bundle.Bundle{b}
	if s.former != nil {
		bundles = append(bundles, s.former)
	}
	programs, err := phases.Programs(c, bundles...)
	if err != nil {
		return err
	}
	s.provider = p.WithPrograms(programs)
	return nil
}

// openBundle reads the bundle that the spec needs, once.
func (s *session) openBundle() (*bundle.Bundle, error) {
	if s.bundle != nil {
		return s.bundle, nil
	}
	b, err := s.bundleOf(s.spec.Spec.Kubernetes.Version)
	s.bundle = b
	return b, err
}

func (s *session) bundleOf(kubernetes string) (*bundle.Bundle, error) {
	dir, err := bundleDir(s.bundleDir)
	if err != nil {
		return nil, err
	}
	return bundle.Open(dir, kubernetes, "linux", "amd64")
}

// openFormer gives what the bundle of the version holds that the cluster comes from.
func (s *session) openFormer(kubernetes string) (map[string]components.Binary, error) {
	b, err := s.bundleOf(kubernetes)
	s.former = b
	return phases.Binaries(b), err
}

// prepare makes the cluster value for an inventory, in memory.
func (s *session) prepare(inv inventory.Inventory) (phases.Prepared, error) {
	b, err := s.openBundle()
	if err != nil {
		return phases.Prepared{}, err
	}
	s.takeEndpoint()
	p, err := phases.Prepare(phases.Sources{Spec: s.spec, Inventory: inv, State: s.state, Bundle: b, Now: time.Now(), Rand: rand.Reader})
	if err == nil {
		s.replacing.mark(p.Cluster)
		p.Cluster.Purge = s.removal.purge
	}
	return p, err
}

// takeEndpoint lets the load balancer that the provider made be the endpoint, where the spec names
// none. It is known from the moment that it is there.
func (s *session) takeEndpoint() {
	if p, ok := s.provider.(*cloud.Provider); ok && s.spec.Spec.ControlPlane.Endpoint == "" && p.Endpoint() != "" {
		s.spec.Spec.ControlPlane.Endpoint = net.JoinHostPort(p.Endpoint(), strconv.Itoa(spec.DefaultAPIPort))
	}
}

// env gives the hands for a prepared cluster, with the connections of a look where there was one at
// the same hosts. The pool must be closed.
func (s *session) env(c *phases.Cluster) (*phases.Env, *host.Pool, error) {
	pool := host.NewPool(c.Known(), s.fleet.Open)
	if s.looked != nil && reflect.DeepEqual(s.looked.inv, c.Known()) {
		pool, s.looked = s.looked.pool, nil
	}
	e, err := phases.NewEnv(c, pool, nil)
	if err == nil {
		e.Bundle = s.openFormer
	}
	return e, pool, err
}

// progress shows events until stop is called.
func (s *session) progress() (event.Sink, func()) {
	return view.Progress(s.streams.Err, view.IsTerminal(s.streams.Err), s.format)
}

// holder says who holds the lock, for the one who meets it.
func holder(command string) state.Holder {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	machine, _ := os.Hostname() // only for people: an empty name does no harm
	return state.Holder{User: name, Machine: machine, PID: os.Getpid(), Since: time.Now(), Command: command}
}

func cacheDir() (string, error) {
	if dir := os.Getenv("CLUSTERCTL_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w; set CLUSTERCTL_CACHE", err)
	}
	return filepath.Join(dir, "clusterctl"), nil
}

// sudoPasswordVariable holds the password for sudo, where the spec says that one is needed.
const sudoPasswordVariable = "CLUSTERCTL_SUDO_PASSWORD"

func (o *clusterOptions) sudoPassword(name string) (string, error) {
	if p := os.Getenv(sudoPasswordVariable); p != "" {
		return p, nil
	}
	asked := o.prompts()
	asked.asking.Lock()
	defer asked.asking.Unlock()
	if p, ok := asked.passwords[name]; ok {
		return p, nil
	}
	p, err := readSecret(o.ctx, o.streams, fmt.Sprintf("sudo password on %s: ", name))
	if errors.Is(err, errNoTerminal) {
		return "", fmt.Errorf("sudo needs a password: set %s", sudoPasswordVariable)
	}
	if err == nil {
		asked.passwords[name] = p
	}
	return p, err
}

func (o *clusterOptions) passphrase(path string) ([]byte, error) {
	asked := o.prompts()
	asked.asking.Lock()
	defer asked.asking.Unlock()
	p, err := readSecret(o.ctx, o.streams, fmt.Sprintf("passphrase of %s: ", path))
	if errors.Is(err, errNoTerminal) {
		return nil, fmt.Errorf("%s is encrypted and there is no terminal to ask on; add the key to an SSH agent", path)
	}
	return []byte(p), err
}
