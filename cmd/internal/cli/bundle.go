package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"clusterctl/cmd/internal/view"
	"clusterctl/components/bundle"
	"clusterctl/components/release"

	"github.com/spf13/cobra"
)

// newBundleCommand makes "clusterctl bundle" and its commands.
func newBundleCommand(s Streams) *cobra.Command {
	o := &bundleOptions{streams: s, arch: runtime.GOARCH, kubernetes: release.Supported()[0]}
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Build and check what is installed on hosts",
		Long: "A bundle holds the programs and images of one Kubernetes version and architecture.\n" +
			"It is built from this project's pinned Go modules and needs Go and, for runc,\n" +
			"a C compiler and libseccomp. Hosts get everything from it.",
	}
	cmd.PersistentFlags().StringVar(&o.dir, "bundle-dir", "", "bundle store (default in $CLUSTERCTL_CACHE, else in the user cache)")
	cmd.AddCommand(o.buildCommand(), o.verifyCommand(), o.listCommand(), o.diffCommand())
	return cmd
}

type bundleOptions struct {
	streams    Streams
	dir        string
	source     string
	kubernetes string
	arch       string
	with       []string
	parallel   int
	format     view.Format
}

func (o *bundleOptions) buildCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build a bundle, or what has changed of it",
		Long: "Builds every component, asks each program for its version, and stores the result.\n" +
			"What was built before from the same inputs is not built again.\n" +
			"The first build takes several minutes.",
		Example: "  clusterctl bundle build\n" +
			"  clusterctl bundle build --with aws\n" +
			"  clusterctl bundle build --kubernetes " + release.Supported()[1] + " --arch arm64 -o json",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.build(cmd.Context()) },
	}
	o.addTarget(cmd)
	cmd.Flags().StringVar(&o.source, "source", "", "checkout with components/ (default: here or above)")
	cmd.Flags().StringSliceVar(&o.with, "with", nil, "`parts` that only some clusters need, and that then stay: "+strings.Join(release.Parts(), ", "))
	cmd.Flags().IntVar(&o.parallel, "parallel", 1, "components built at the same time")
	return cmd
}

func (o *bundleOptions) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify",
		Short:   "Read a bundle again and run its programs",
		Long:    "Compares every file with its digest and asks every program for its version.\nFindings are written to standard output, and the exit code is 1 when there are some.",
		Example: "  clusterctl bundle verify --kubernetes " + release.Supported()[0],
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.verify(cmd.Context()) },
	}
	o.addTarget(cmd)
	return cmd
}

func (o *bundleOptions) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the bundles of this machine",
		Example: "  clusterctl bundle list -o json",
		RunE:    func(*cobra.Command, []string) error { return o.list() },
	}
	addOutputFlag(cmd, &o.format)
	return cmd
}

func (o *bundleOptions) addTarget(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.kubernetes, "kubernetes", o.kubernetes, "Kubernetes `version`: "+strings.Join(release.Supported(), " or "))
	cmd.Flags().StringVar(&o.arch, "arch", o.arch, "`architecture` of the hosts: amd64 or arm64")
	addOutputFlag(cmd, &o.format)
}

// checkTarget makes what a person mistyped a usage error.
func (o *bundleOptions) checkTarget() error {
	if _, err := release.For(o.kubernetes); err != nil {
		return &UsageError{err}
	}
	if o.arch != "amd64" && o.arch != "arm64" {
		return usagef("--arch %q: it is amd64 or arm64", o.arch)
	}
	return nil
}

func (o *bundleOptions) build(ctx context.Context) error {
	if err := o.checkTarget(); err != nil {
		return err
	}
	for _, part := range o.with {
		if !slices.Contains(release.Parts(), part) {
			return usagef("--with %q: there is %s", part, strings.Join(release.Parts(), ", "))
		}
	}
	dir, err := bundleDir(o.dir)
	if err != nil {
		return err
	}
	source, err := sourceRoot(o.source)
	if err != nil {
		return err
	}
	b, err := bundle.Build(ctx, bundle.Options{
		Root: source, Dir: dir, Kubernetes: o.kubernetes, OS: "linux", Arch: o.arch,
		With: o.with, Parallel: o.parallel, Progress: progressLines(o.streams),
	})
	if err != nil {
		return err
	}
	if o.format == view.JSON {
		return view.NewOutput(o.streams.Out, o.format).JSON(b.Manifest)
	}
	rows := [][]string{}
	for _, a := range b.Artifacts() {
		rows = append(rows, []string{a.Name, a.Version, megabytes(a.Size), megabytes(a.CompressedSize), a.SHA256[:12]})
	}
	raw, compressed := b.Size()
	rows = append(rows, []string{"total", b.Kubernetes, megabytes(raw), megabytes(compressed), b.Digest()[:12]})
	return view.Table(o.streams.Out, []string{"ARTIFACT", "VERSION", "SIZE", "COMPRESSED", "SHA256"}, rows)
}

func (o *bundleOptions) verify(ctx context.Context) error {
	if err := o.checkTarget(); err != nil {
		return err
	}
	dir, err := bundleDir(o.dir)
	if err != nil {
		return err
	}
	b, err := bundle.Open(dir, o.kubernetes, "linux", o.arch)
	if err != nil {
		return err
	}
	findings := bundle.Verify(ctx, b)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := o.writeFindings(b, findings); err != nil {
		return err
	}
	if len(findings) > 0 {
		return fmt.Errorf("the bundle has %d findings: run \"clusterctl bundle build --kubernetes %s --arch %s\"", len(findings), b.Kubernetes, b.Arch)
	}
	return nil
}

func (o *bundleOptions) writeFindings(b *bundle.Bundle, findings []bundle.Finding) error {
	if o.format == view.JSON {
		return view.NewOutput(o.streams.Out, o.format).JSON(struct {
			Digest   string           `json:"digest"`
			Findings []bundle.Finding `json:"findings"`
		}{b.Digest(), append([]bundle.Finding{}, findings...)})
	}
	if len(findings) == 0 {
		_, err := fmt.Fprintf(o.streams.Out, "%s %s/%s: %d artifacts are whole and answer with their versions.\n", b.Kubernetes, b.OS, b.Arch, len(b.Artifacts()))
		return err
	}
	for _, f := range findings {
		if _, err := fmt.Fprintf(o.streams.Out, "%s: %s\n", f.Artifact, f.Problem); err != nil {
			return err
		}
	}
	return nil
}

func (o *bundleOptions) list() error {
	dir, err := bundleDir(o.dir)
	if err != nil {
		return err
	}
	bundles, broken := bundle.List(dir) // told after the good ones
	rows, items := [][]string{}, []bundleItem{}
	for _, b := range bundles {
		raw, compressed := b.Size()
		rows = append(rows, []string{b.Kubernetes, b.OS + "/" + b.Arch, megabytes(raw), megabytes(compressed), b.Digest()[:12]})
		items = append(items, bundleItem{b.Kubernetes, b.OS, b.Arch, raw, compressed, b.Digest()})
	}
	if o.format == view.JSON {
		err = view.NewOutput(o.streams.Out, o.format).JSON(struct {
			Bundles []bundleItem `json:"bundles"`
		}{items})
	} else {
		err = view.Table(o.streams.Out, []string{"KUBERNETES", "PLATFORM", "SIZE", "COMPRESSED", "DIGEST"}, rows)
	}
	return errors.Join(err, broken)
}

// bundleItem is one bundle in the JSON form of "bundle list".
type bundleItem struct {
	Kubernetes     string `json:"kubernetes"`
	OS             string `json:"os"`
	Arch           string `json:"arch"`
	Size           int64  `json:"size"`
	CompressedSize int64  `json:"compressedSize"`
	Digest         string `json:"digest"`
}

// progressLines writes one line for each step that takes time.
func progressLines(s Streams) func(bundle.Event) {
	var mu sync.Mutex
	return func(e bundle.Event) {
		if e.Step == bundle.StepWait {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(s.Err, "%-24s %-6s %6s\n", e.Artifact, e.Step, e.Elapsed.Round(time.Second/10))
	}
}

// bundleDir is the bundle store: the flag, else a place in the cache.
func bundleDir(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if cache := os.Getenv("CLUSTERCTL_CACHE"); cache != "" {
		return filepath.Join(cache, "bundles"), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache: %w: give --bundle-dir", err)
	}
	return filepath.Join(cache, "clusterctl", "bundles"), nil
}

// sourceRoot is the directory that holds the component modules: the flag, else
// the nearest one at or above the working directory.
func sourceRoot(flag string) (string, error) {
	holds := func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, "components", "kubernetes", "build"))
		return err == nil && info.IsDir()
	}
	if flag != "" {
		if !holds(flag) {
			return "", usagef("--source %s: it has no components/kubernetes/build", flag)
		}
		return filepath.Abs(flag)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for !holds(dir) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", usagef("no source checkout of clusterctl here or above: give --source")
		}
		dir = parent
	}
	return dir, nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
