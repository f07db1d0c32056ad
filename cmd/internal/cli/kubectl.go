package cli

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
)

func newKubectlCommand(o *clusterOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl SPEC [-- ARGUMENTS...]",
		Short: "Run the bundle's own kubectl as the cluster's administrator",
		Long:  "Runs kubectl of the spec's Kubernetes version with the administrator's kubeconfig, from this machine.",
		Example: "  clusterctl kubectl cluster.yaml -- get nodes -o wide\n" +
			"  clusterctl kubectl cluster.yaml -- apply -f app.yaml",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.open(args[0])
			if err != nil {
				return err
			}
			b, err := s.openBundle()
			if err != nil {
				return err
			}
			a, ok := b.Artifact("kubernetes")
			if !ok {
				return fmt.Errorf("bundle for %s has no kubernetes program; build it again", b.Kubernetes)
			}
			if !s.state.Exists() {
				return s.noState()
			}
			c := exec.CommandContext(cmd.Context(), b.Path(a), args[1:]...)
			c.Args[0] = "kubectl"
			c.Env = append(c.Environ(), "KUBECONFIG="+s.state.Path()+"/admin.kubeconfig")
			c.Stdin, c.Stdout, c.Stderr = o.streams.In, o.streams.Out, o.streams.Err
			err = c.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				return fmt.Errorf("kubectl: %w", exit)
			}
			return err
		},
	}
}

// noState says that there is no cluster of this spec to work on.
func (s *session) noState() error {
	return fmt.Errorf("cluster %q has no state in %s; run: clusterctl up %s", s.spec.Metadata.Name, shorten(s.state.Path()), s.spec.Path)
}
