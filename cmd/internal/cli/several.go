package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"clusterctl/cmd/internal/view"
	"clusterctl/provision/host"
	"clusterctl/provision/spec"

	"github.com/spf13/cobra"
)

// specFile begins a line of every spec file, and of no other YAML in a directory.
var specFile = regexp.MustCompile(`(?m)^["']?apiVersion["']?\s*:\s*["']?clusterctl/`)

// specPaths lists the spec files that arguments name: files as they are, of directories those YAML
// files that are specs. The order is that of the arguments, in a directory that of the names.
func specPaths(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			out = append(out, arg) // what is wrong with it is said when it is read
			continue
		}
		found, err := specsIn(arg)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, usagef("%s has no spec file: none of its .yaml files begins with apiVersion: %s", arg, spec.APIVersion)
		}
		out = append(out, found...)
	}
	sorted := slices.Sorted(slices.Values(out))
	for i := 1; i < len(sorted); i++ {
		if filepath.Clean(sorted[i]) == filepath.Clean(sorted[i-1]) {
			return nil, usagef("%s is named twice", sorted[i])
		}
	}
	return out, nil
}

func specsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &UsageError{fmt.Errorf("read specs: %w", err)}
	}
	var out []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, &UsageError{fmt.Errorf("read specs: %w", err)}
		}
		if specFile.Match(text) {
			out = append(out, path)
		}
	}
	return out, nil
}

// severalUsage is the part of the help of commands that take several specs.
const severalUsage = "\n\nSeveral specs, or directories with specs, are worked on side by side and answered in one table. The\n" +
	"exit code is the worst of them: 130, 3, 1, 4, 5, 2, 0 in this order."

// work is what a command does for one spec.
type work func(ctx context.Context, s *session) error

// addClustersFlag gives cmd the bound for several specs.
func (o *clusterOptions) addClustersFlag(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.clusters, "clusters", 4, "`clusters` worked on at the same time")
}

// each does the work of a command for all specs that args name: for one as it stands, for several
// side by side with one table at the end.
func (o *clusterOptions) each(ctx context.Context, args []string, table view.ClusterTable, do work) error {
	paths, err := specPaths(args)
	if err != nil {
		return err
	}
	if len(paths) == 1 {
		s, err := o.open(paths[0])
		if err != nil {
			return err
		}
		defer s.close()
		return do(ctx, s)
	}
	o.prompts() // made here, before clusters ask side by side
	loaded := spec.LoadAll(paths)
	results := make([]view.ClusterResult, len(paths))
	errs := make([]error, len(paths))
	var mu sync.Mutex // of the streams
	err = host.ForEach(ctx, o.clusters, indexes(len(paths)), func(ctx context.Context, i int) error {
		results[i], errs[i] = o.one(ctx, loaded[i], table, do, &mu)
		return nil
	})
	if err := errors.Join(err, view.NewOutput(o.streams.Out, o.format).Clusters(table, results)); err != nil {
		return err
	}
	return worst(results, errs)
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// one does the work for one of several specs. What it would write to standard output becomes a part
// of the answer for all; where a table is made of it, it is asked for as JSON.
func (o *clusterOptions) one(ctx context.Context, l spec.Loaded, table view.ClusterTable, do work, mu *sync.Mutex) (view.ClusterResult, error) {
	result := view.ClusterResult{Cluster: clusterName(l), Spec: l.Path}
	err := l.Err
	if err == nil {
		var out bytes.Buffer
		own := *o
		own.log = o.log.With("cluster", result.Cluster)
		own.streams = Streams{In: strings.NewReader(""), Out: &out, Err: view.Labelled(o.streams.Err, mu, result.Cluster)}
		if table.Reads && o.format == view.Text {
			own.format = view.JSON
			own.streams.Err = io.Discard // the table tells how it went; one spec alone tells it all
		}
		var s *session
		if s, err = own.open(l.Path); err == nil {
			err = do(ctx, s)
			s.close()
		}
		result.Text = out.String()
		if own.format == view.JSON && json.Valid(out.Bytes()) {
			result.Result = out.Bytes()
		}
	}
	result.ExitCode = exitCode(ctx, err)
	if err != nil && result.ExitCode != exitChanges {
		result.Error = err.Error()
	}
	return result, err
}

func clusterName(l spec.Loaded) string {
	if l.Cluster == nil {
		return strings.TrimSuffix(filepath.Base(l.Path), filepath.Ext(l.Path))
	}
	return l.Cluster.Metadata.Name
}

// severity orders exit codes from the worst.
var severity = []int{exitInterrupted, exitUsage, exitFailed, exitUnreachable, exitLocked, exitChanges, exitDone}

// severalError is how a command ended that worked on several clusters.
type severalError struct {
	text string
	code int
}

func (e *severalError) Error() string { return e.text }

// ExitCode is the worst of all clusters'.
func (e *severalError) ExitCode() int { return e.code }

func worst(results []view.ClusterResult, errs []error) error {
	code, bad := exitDone, 0
	for _, r := range results {
		if rank(r.ExitCode) < rank(code) {
			code = r.ExitCode
		}
		if r.Error != "" {
			bad++
		}
	}
	if code == exitDone {
		return errors.Join(errs...) // nil
	}
	return &severalError{fmt.Sprintf("%d of %d clusters did not go well", bad, len(results)), code}
}

// rank is the place in severity; a command's own code counts as a failure.
func rank(code int) int {
	if i := slices.Index(severity, code); i >= 0 {
		return i
	}
	return slices.Index(severity, exitFailed)
}
