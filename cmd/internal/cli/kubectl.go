package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"clusterctl/phases"
	"clusterctl/pki"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

func newKubectlCommand(o *clusterOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl SPEC [-- ARGUMENTS...]",
		Short: "Run the bundle's own kubectl as the cluster's administrator",
		Long: "Runs kubectl of the spec's Kubernetes version with the administrator's kubeconfig. Its connections\n" +
			"go over SSH through the first control plane that answers, so the API need not be reachable from here.",
		Example: "  clusterctl kubectl cluster.yaml -- get nodes -o wide\n" +
			"  clusterctl kubectl cluster.yaml -- apply -f app.yaml",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.open(args[0])
			if err != nil {
				return err
			}
			return s.kubectl(cmd.Context(), args[1:])
		},
	}
}

func (s *session) kubectl(ctx context.Context, args []string) error {
	b, err := s.openBundle()
	if err != nil {
		return err
	}
	a, ok := b.Artifact("kubernetes")
	if !ok {
		return fmt.Errorf("bundle for %s has no kubernetes program; build it again", b.Kubernetes)
	}
	kubeconfig, err := s.adminKubeconfig()
	if err != nil {
		return err
	}
	inv, err := s.provider.Inventory(ctx, s.spec)
	if err != nil {
		return err
	}
	p, err := s.prepare(inv)
	if err != nil {
		return err
	}
	e, pool, err := s.env(p.Cluster)
	if err != nil {
		return err
	}
	defer pool.Close()
	address, stop, err := tunnel(ctx, e)
	if err != nil {
		return err
	}
	defer stop()
	c := exec.CommandContext(ctx, b.Path(a), append([]string{"--server=https://" + address}, args...)...)
	c.Args[0] = "kubectl"
	c.Env = append(c.Environ(), "KUBECONFIG="+kubeconfig)
	c.Stdin, c.Stdout, c.Stderr = s.streams.In, s.streams.Out, s.streams.Err
	err = c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &commandError{fmt.Errorf("kubectl: %w", exit), exit.ExitCode()}
	}
	return err
}

// adminKubeconfig is the administrator's kubeconfig, which is written where only the keys are: a state
// that came out of Git or a bucket has none.
func (s *session) adminKubeconfig() (string, error) {
	path := filepath.Join(s.state.Path(), "admin.kubeconfig")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	text, err := s.kubeconfig(pki.Request{}, 0)
	if err != nil {
		return "", err
	}
	return s.state.WriteKubeconfig("admin", text)
}

// tunnel listens on this machine's loopback and carries each connection to an API server.
func tunnel(ctx context.Context, e *phases.Env) (address string, stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for kubectl: %w", err)
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return // closed by stop
			}
			go carry(ctx, near, e)
		}
	}()
	return l.Addr().String(), func() { _ = l.Close() }, nil
}

// carry copies both ways until one side ends. What goes wrong shows in kubectl's own message.
func carry(ctx context.Context, near net.Conn, e *phases.Env) {
	defer near.Close()
	far, err := e.DialAPI(ctx)
	if err != nil {
		return
	}
	defer far.Close()
	var g errgroup.Group
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		g.Go(func() error {
			_, err := io.Copy(pair[0], pair[1])
			pair[0].Close()
			return err
		})
	}
	_ = g.Wait() // the end of a connection
}

// noState says that there is no cluster of this spec to work on.
func (s *session) noState() error {
	return fmt.Errorf("cluster %q has no state in %s; run: clusterctl up %s", s.spec.Metadata.Name, shorten(s.state.Path()), s.spec.Path)
}
