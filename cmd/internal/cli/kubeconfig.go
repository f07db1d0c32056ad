package cli

import (
	"crypto/rand"
	"fmt"
	"time"

	"clusterctl/phases"
	"clusterctl/pki"

	"github.com/spf13/cobra"
)

func newKubeconfigCommand(o *clusterOptions) *cobra.Command {
	var name string
	var groups []string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "kubeconfig SPEC",
		Short: "Print a kubeconfig for the administrator or for another user",
		Long: "Prints the administrator's kubeconfig. With --user it signs a client certificate for that user and\n" +
			"those groups, which must be given rights by RBAC, and which ends by itself after --ttl.",
		Example: "  clusterctl kubeconfig cluster.yaml >admin.kubeconfig\n" +
			"  clusterctl kubeconfig cluster.yaml --user jo --group developers --ttl 8h",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "" && len(groups) > 0 {
				return usagef("--group needs --user")
			}
			s, err := o.open(args[0])
			if err != nil {
				return err
			}
			text, err := s.kubeconfig(pki.Request{Name: name, CommonName: name, Organization: groups, CA: pki.ClusterCA, Usage: pki.Client}, ttl)
			if err != nil {
				return err
			}
			_, err = o.streams.Out.Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&name, "user", "", "`name` of the user (default: the administrator)")
	cmd.Flags().StringSliceVar(&groups, "group", nil, "`groups` of the user")
	cmd.Flags().DurationVar(&ttl, "ttl", 24*time.Hour, "how `long` the user's certificate lives")
	return cmd
}

func (s *session) kubeconfig(user pki.Request, ttl time.Duration) ([]byte, error) {
	secrets, found, err := s.state.Secrets()
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, s.noState()
	}
	inv, _, err := s.state.Inventory()
	if err != nil {
		return nil, err
	}
	leaf, ok := secrets.Leaf("", pki.Admin)
	if user.Name != "" {
		if leaf, err = secrets.Sign(user, ttl, time.Now(), rand.Reader); err != nil {
			return nil, err
		}
		ok = true
	}
	if !ok || len(inv.ControlPlanes()) == 0 {
		return nil, fmt.Errorf("cluster %q was not brought up to the end; run: clusterctl up %s", s.spec.Metadata.Name, s.spec.Path)
	}
	c := &phases.Cluster{Spec: s.spec, Inventory: inv}
	return pki.Kubeconfig(s.spec.Metadata.Name, apiServers(c), secrets.CA(pki.ClusterCA).CertPEM, leaf), nil
}
