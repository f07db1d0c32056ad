package cli

import (
	"clusterctl/cmd/internal/view"
	"clusterctl/components/bundle"

	"github.com/spf13/cobra"
)

func (o *bundleOptions) diffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "diff FROM TO",
		Short:   "Show what an upgrade from one version to another changes on a host",
		Long:    "Compares the bundles of two versions of Kubernetes. What both hold does not travel again.",
		Example: "  clusterctl bundle diff v1.36.3 v1.37.2",
		Args:    cobra.ExactArgs(2),
		RunE:    func(_ *cobra.Command, args []string) error { return o.diff(args[0], args[1]) },
	}
	cmd.Flags().StringVar(&o.arch, "arch", o.arch, "`architecture` of the hosts: amd64 or arm64")
	addOutputFlag(cmd, &o.format)
	return cmd
}

func (o *bundleOptions) diff(from, to string) error {
	dir, err := bundleDir(o.dir)
	if err != nil {
		return err
	}
	var bundles []*bundle.Bundle
	for _, version := range []string{from, to} {
		o.kubernetes = version
		if err := o.checkTarget(); err != nil {
			return err
		}
		b, err := bundle.Open(dir, version, "linux", o.arch)
		if err != nil {
			return err
		}
		bundles = append(bundles, b)
	}
	return view.NewOutput(o.streams.Out, o.format).BundleDiff(bundleDiff(bundles[0], bundles[1]))
}

// bundleDiff lists what two bundles do not share, in the order of the second.
func bundleDiff(from, to *bundle.Bundle) view.BundleDiff {
	out := view.BundleDiff{From: from.Manifest.Kubernetes, To: to.Manifest.Kubernetes}
	for _, a := range to.Artifacts() {
		before, there := from.Artifact(a.Name)
		if there && before.SHA256 == a.SHA256 {
			continue
		}
		out.Artifacts = append(out.Artifacts, view.ArtifactChange{Name: a.Name, From: before.Version, To: a.Version, Size: a.Size})
		out.Bytes += a.Size
	}
	for _, a := range from.Artifacts() {
		if _, there := to.Artifact(a.Name); !there {
			out.Artifacts = append(out.Artifacts, view.ArtifactChange{Name: a.Name, From: a.Version})
		}
	}
	return out
}
