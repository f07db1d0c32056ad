// Package cli is the commands: one file each, with options, flags and run.
package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"clusterctl/cmd/internal/view"
	"clusterctl/components/release"

	"github.com/spf13/cobra"
)

// Execute runs the command line args, without the program's name, and returns the exit code.
// When ctx is cancelled the command finishes the step in progress and stops.
func Execute(ctx context.Context, args []string, s Streams) int {
	root := newRootCommand(s)
	if args == nil {
		args = []string{} // cobra reads os.Args when it is given nil
	}
	root.SetArgs(args)
	started := markStart(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !*started {
		err = asUsage(err)
	}
	code := exitCode(ctx, err)
	report(s, cmd, err, code)
	return code
}

func newRootCommand(s Streams) *cobra.Command {
	level := new(slog.LevelVar)
	level.Set(slog.LevelWarn)
	log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: level}))

	root := &cobra.Command{
		Use:   "clusterctl",
		Short: "Build and keep Kubernetes clusters from one spec file",
		Long: "clusterctl turns one spec file into a running Kubernetes cluster and keeps it that way.\n" +
			"Edit the file and run \"clusterctl up\" again: it changes what differs, nothing else.\n\n" +
			exitCodesHelp(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.PersistentFlags().TextVar(level, "log-level", level, "write logs of this `level` and above to stderr: debug, info, warn or error")
	addCommands(root, s, log)
	root.InitDefaultCompletionCmd("completion") // any argument: make it also when completion itself was not called
	root.InitDefaultHelpCmd()
	strict(root)
	return root
}

// addCommands is the list of all commands, in the groups of the help text.
func addCommands(root *cobra.Command, s Streams, log *slog.Logger) {
	group := func(title string, cmds ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, c := range cmds {
			c.GroupID = title
			root.AddCommand(c)
		}
	}
	var all []*clusterOptions
	o := func() *clusterOptions {
		all = append(all, &clusterOptions{streams: s, log: log})
		return all[len(all)-1]
	}
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		for _, o := range all {
			o.ctx = cmd.Context()
		}
	}
	group("Clusters:", newUpCommand(o()), newPlanCommand(o()), newUpgradeCommand(o()), newStatusCommand(o()), newReplaceCommand(o()), newDownCommand(o()), newUnlockCommand(o()), newKubeconfigCommand(o()), newSSHCommand(o()), newKubectlCommand(o()))
	group("What it is made of:", newSpecCommand(s), newBundleCommand(s))
	root.AddCommand(newVersionCommand(s, release.Supported))
}

// addOutputFlag gives cmd -o, which chooses text or JSON for its results, or one of more.
func addOutputFlag(cmd *cobra.Command, f *view.Format, more ...view.Format) {
	if *f == "" {
		*f = view.Text
	}
	flag := view.FormatFlag{Format: f, Known: append([]view.Format{view.Text, view.JSON}, more...)}
	names := flag.Names()
	last := len(names) - 1
	cmd.Flags().VarP(flag, "output", "o", "how results are written: "+strings.Join(names[:last], ", ")+" or "+names[last])
	// The error is for a flag that does not exist; this one was made a line above.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// strict makes every command below cmd refuse what it does not know: a command that says
// nothing about arguments takes none, and one that only groups others takes only their names.
func strict(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		strict(c)
	}
	switch {
	case cmd.Name() == "help" && cmd.Parent() == cmd.Root():
		cmd.Args = knownTopic
	case cmd.Runnable() && cmd.Args == nil:
		cmd.Args = cobra.NoArgs
	case !cmd.Runnable() && cmd.HasSubCommands():
		cmd.Args = knownSubcommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2 // cobra's own default, set only on its own path
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// knownTopic refuses what "clusterctl help" would shrug off.
func knownTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return fmt.Errorf("no help on %q; see \"%s --help\"", strings.Join(args, " "), found.CommandPath())
	}
	return nil
}

// markStart reports through the pointer whether a command's own function was entered. What
// cobra finds before that is wrong usage: an unknown flag, a value, arguments, a missing flag.
func markStart(cmd *cobra.Command) *bool {
	started := new(bool)
	var mark func(*cobra.Command)
	mark = func(c *cobra.Command) {
		if run := c.RunE; run != nil {
			c.RunE = func(cmd *cobra.Command, args []string) error {
				*started = true
				return run(cmd, args)
			}
		}
		for _, sub := range c.Commands() {
			mark(sub)
		}
	}
	mark(cmd)
	return started
}

func asUsage(err error) error {
	if _, ok := errors.AsType[*UsageError](err); ok {
		return err
	}
	return &UsageError{err}
}

// report tells why a command ended, when that is not yet told, and what to do next.
func report(s Streams, cmd *cobra.Command, err error, code int) {
	hint := ""
	switch code {
	case exitDone, exitChanges:
		return
	case exitInterrupted:
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		hint = "run the same command again to go on from here"
	case exitUsage:
		if _, ok := errors.AsType[*UsageError](err); ok {
			hint = fmt.Sprintf("run \"%s --help\" for usage", cmd.CommandPath())
		}
	}
	if f := cmd.Flags().Lookup("output"); f != nil && f.Value.String() == string(view.JSON) {
		view.ErrorLine(s.Err, err, hint, code)
		return
	}
	view.Error(s.Err, err, hint)
}
