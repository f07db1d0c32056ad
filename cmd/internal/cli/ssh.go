package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"clusterctl/provision/host"
	"clusterctl/provision/inventory"

	"github.com/spf13/cobra"
)

func newSSHCommand(o *clusterOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "ssh SPEC HOST [-- COMMAND...]",
		Short: "Run a command on a host, or open a shell there",
		Long: "With a command it runs it as the login user and gives its exit code. Without one it starts this\n" +
			"machine's ssh with the host's address, key and known hosts.",
		Example: "  clusterctl ssh cluster.yaml cp-1\n  clusterctl ssh cluster.yaml cp-1 -- journalctl -u kubelet -n 50",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.open(args[0])
			if err != nil {
				return err
			}
			inv, err := s.provider.Inventory(cmd.Context(), s.spec)
			if err != nil {
				return err
			}
			h, ok := inv.Get(args[1])
			if !ok {
				return usagef("no host %q in %s; it has %s", args[1], args[0], strings.Join(inv.Names(), ", "))
			}
			if len(args) == 2 {
				return shell(s, h)
			}
			return runOn(cmd, s, h, args[2:])
		},
	}
}

func runOn(cmd *cobra.Command, s *session, h inventory.Host, args []string) error {
	handle := s.fleet.Open(h)
	defer handle.Close()
	res, err := handle.Run(cmd.Context(), host.Cmd{Args: args, Stdout: s.streams.Out})
	if _, werr := s.streams.Err.Write(res.Stderr); err == nil {
		err = werr
	}
	if exit, ok := errors.AsType[*host.ExitError](err); ok {
		return &commandError{err, exit.Code}
	}
	return err
}

// commandError is a command's own failure: its exit code becomes ours.
type commandError struct {
	error
	code int
}

func (e *commandError) Unwrap() error { return e.error }

// ExitCode is the command's exit code.
func (e *commandError) ExitCode() int { return e.code }

// shell hands the terminal to ssh; host keys are checked against the same file.
func shell(s *session, h inventory.Host) error {
	c := exec.Command("ssh", shellArgs(h.SSH)...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, s.streams.Out, s.streams.Err
	if err := c.Run(); err != nil {
		return fmt.Errorf("ssh %s: %w", h.Name, err)
	}
	return nil
}

func shellArgs(h inventory.SSH) []string {
	return append(append(loginArgs(h), proxyArgs(h)...), "--", h.Address)
}

// proxyArgs are how a host behind a bastion is reached. Not -J, which takes neither key nor known hosts
// for the bastion. ssh has a shell run the command, and expands % in it.
func proxyArgs(h inventory.SSH) []string {
	b := h.Bastion
	if b == nil {
		return nil
	}
	const target = "[%h]:%p"
	proxy := slices.Concat([]string{"ssh"}, loginArgs(*b), proxyArgs(*b), []string{"-W", target, "--", b.Address})
	for i, a := range proxy {
		if a != target {
			a = percent(a)
		}
		proxy[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return []string{"-o", "ProxyCommand=" + strings.Join(proxy, " ")}
}

// percent keeps ssh from reading % in a value: ssh_config(5), TOKENS.
func percent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// loginArgs are how one machine is logged in to.
func loginArgs(h inventory.SSH) []string {
	args := []string{"-p", strconv.Itoa(h.Port), "-l", h.User}
	if h.KeyPath != "" {
		args = append(args, "-i", percent(h.KeyPath), "-o", "IdentitiesOnly=yes")
	}
	for _, file := range h.Identities {
		args = append(args, "-i", percent(file))
	}
	if h.KnownHostsPath != "" {
		args = append(args, "-o", `UserKnownHostsFile="`+percent(h.KnownHostsPath)+`"`)
	}
	return args
}
