package cli

import (
	"runtime/debug"

	"clusterctl/cmd/internal/view"

	"github.com/spf13/cobra"
)

// newVersionCommand makes "clusterctl version". supported lists the Kubernetes versions that
// this build can install, newest first.
func newVersionCommand(s Streams, supported func() []string) *cobra.Command {
	var format view.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show this program's version and the Kubernetes versions it supports",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo() // nil in a binary built without module support
			v := versionOf(info)
			v.Kubernetes = supported()
			return view.NewOutput(s.Out, format).Version(v)
		},
	}
	addOutputFlag(cmd, &format)
	return cmd
}

// versionOf reads what the Go toolchain stamped into the binary: the module version (from the
// Git tag) and the commit.
func versionOf(info *debug.BuildInfo) view.Version {
	v := view.Version{Version: "unknown"}
	if info == nil {
		return v
	}
	v.Go = info.GoVersion
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}
