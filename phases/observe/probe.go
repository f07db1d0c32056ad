// Package observe reads what is there: one round trip a host for all facts asked for, and one
// pass over the Kubernetes API for the cluster's own objects. It changes nothing.
package observe

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"clusterctl/components/resource"
	"clusterctl/provision/host"
)

//go:embed probe.sh
var script string

// Host asks a host for the facts of the resources in want and, with report, for a description of
// the machine itself.
func Host(ctx context.Context, h host.Host, want []resource.Resource, report bool) (resource.Facts, Report, error) {
	before := time.Now()
	out, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", script, "probe"}, Stdin: bytes.NewReader(request(want, report)), Root: true})
	if err != nil {
		return nil, Report{}, fmt.Errorf("observe: %w", err)
	}
	raw := parse(string(out.Stdout))
	if len(raw.clock) < 2 {
		return nil, Report{}, fmt.Errorf("%s: observe: the answer was cut short", h.Name())
	}
	facts, unsure := raw.facts(want)
	if len(unsure) > 0 {
		if err := rehash(ctx, h, unsure, raw, facts); err != nil {
			return nil, Report{}, err
		}
	}
	return facts, raw.report(h.Name(), before, time.Now()), nil
}

// request lists what the script must look at.
func request(want []resource.Resource, report bool) []byte {
	var b bytes.Buffer
	images := false
	for _, r := range want {
		name := r.Key().Name
		switch r.Key().Kind {
		case resource.KindFile:
			fmt.Fprintf(&b, "file\t%s\n", name)
		case resource.KindDir, resource.KindLink, resource.KindArtifact:
			fmt.Fprintf(&b, "path\t%s\n", name)
		case resource.KindUnit:
			fmt.Fprintf(&b, "unit\t%s\npath\t%s\npath\t%s\n", name, invocationPath(name), stampPath("units", name))
		case resource.KindAside:
			fmt.Fprintf(&b, "path\t%s\n", name)
		case resource.KindSeed:
			fmt.Fprintf(&b, "file\t%s\npath\t%s\n", name, r.(resource.Seed).Until)
		case resource.KindSysctl:
			fmt.Fprintf(&b, "sysctl\t%s\n", name)
		case resource.KindModule:
			fmt.Fprintf(&b, "module\t%s\n", name)
		case resource.KindImage:
			images = true
		}
	}
	if images {
		b.WriteString("images\t-\n")
	}
	if report {
		b.WriteString("report\t-\n")
	}
	return b.Bytes()
}

// Unremembered is the Detail of an artifact whose digest was computed, since none was remembered
// in this boot of the host.
const Unremembered = "not remembered in this boot"

// hashScript prints "SUM *PATH" for each file, by the program that uses the processor's
// instructions for it where there is one.
const hashScript = `command -v openssl >/dev/null 2>&1 && exec openssl dgst -sha256 -r "$@"; exec sha256sum -b -- "$@"`

// rehash asks for the digests of artifacts whose stamp does not fit the file any more.
func rehash(ctx context.Context, h host.Host, unsure []resource.Resource, raw raw, facts resource.Facts) error {
	args := []string{"sh", "-c", hashScript, "hash"}
	for _, r := range unsure {
		args = append(args, r.Key().Name)
	}
	out, err := h.Run(ctx, host.Cmd{Args: args, Root: true})
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	for line := range strings.Lines(string(out.Stdout)) {
		sum, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		path = strings.TrimLeft(path, " *") // text or binary
		p, seen := raw.paths[path]
		if !ok || !seen {
			continue
		}
		key := resource.Key{Host: h.Name(), Kind: resource.KindArtifact, Name: path}
		facts[key] = resource.Fact{Exists: true, Digest: resource.FileDigest(sum, p.mode, p.owner), Detail: Unremembered}
	}
	return nil
}
