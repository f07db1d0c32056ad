package sim

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/phases/observe"
	"clusterctl/provision/inventory"
)

const (
	bootID = "11111111-2222-3333-4444-555555555555"
	mtime  = "1796158221.6103442860"
)

// Machine is the recorded answer of a real host without anything of ours.
func Machine() (string, error) {
	text, err := os.ReadFile("phases/observe/testdata/debian12-container.probe")
	return string(text), err
}

// now gives the answer with the clock of this moment at both ends.
func now(text string) string {
	clock := fmt.Sprintf("%.6f", float64(time.Now().UnixMicro())/1e6)
	return strings.ReplaceAll(text, "CLOCK", clock)
}

var (
	clockLine   = regexp.MustCompile(`(?m)^(@\tclock\n)[0-9.]+$`)
	addressLine = regexp.MustCompile(`(?m)^2: eth0 +inet .*$`)
)

// plainAnswer is the machine with the name and address of a host.
func plainAnswer(machine string, h inventory.Host) string {
	text := clockLine.ReplaceAllString(machine, "${1}CLOCK")
	text = addressLine.ReplaceAllString(text, fmt.Sprintf("2: eth0    inet %s/15 brd 198.19.255.255 scope global eth0", h.Address))
	text = strings.ReplaceAll(text, "fitness-cp-1", h.Name)
	text = strings.ReplaceAll(text, "6530de691c26cfb89b8e3a10a5aa6bd4", fmt.Sprintf("%032x", h.Address.As16()))
	return text
}

// with puts further sections after the first clock: of lines about the same file the first counts.
func with(text, more string) string {
	i := strings.Index(text, "@\tpath\n")
	return text[:i] + more + text[i:]
}

// answer is what the probe says of a host where everything is in place.
func answer(machine string, h inventory.Host, wants []resource.Resource) string {
	var paths, sums, units, files, modules, images strings.Builder
	fmt.Fprintf(&files, "/proc/sys/kernel/random/boot_id:%s\n", bootID)
	path := func(path, kind string, mode uint32, owner string, size int64, target string) {
		fmt.Fprintf(&paths, "%s\t%s\t%o\t%s\t%d\t%s\t%s\t%s\n", path, kind, mode, owner, size, mtime, mtime, target)
	}
	for _, w := range wants {
		name := w.Key().Name
		switch r := w.(type) {
		case resource.Dir:
			path(name, "d", uint32(r.Mode.Perm()), r.Owner, 4096, "")
		case resource.File:
			path(name, "f", uint32(r.Mode.Perm()), r.Owner, int64(len(r.Content)), "")
			fmt.Fprintf(&sums, "%s  %s\n", resource.Sum(r.Content), name)
			if name == components.IdentityPath {
				for line := range strings.Lines(string(r.Content)) {
					fmt.Fprintf(&files, "%s:%s\n", name, strings.TrimSuffix(line, "\n"))
				}
			}
		case resource.Seed:
			path(r.Until, "d", 0o700, "root:root", 4096, "")
		case resource.Record:
			for _, p := range r.Paths {
				fmt.Fprintf(&files, "%s:%s\n", name, p)
			}
		case resource.Link:
			path(name, "l", 0o777, "root:root", int64(len(r.Target)), r.Target)
		case resource.Artifact:
			path(name, "f", uint32(r.Mode.Perm()), "root:root", r.Size, "")
			stamp := strings.Join([]string{name, r.SHA256, fmt.Sprint(r.Size), mtime, mtime, bootID}, " ")
			fmt.Fprintf(&files, "/var/lib/clusterctl/artifacts/%s:%s\n", observe.StampName(name), stamp)
		case resource.Unit:
			fmt.Fprintf(&units, "\nNRestarts=0\nId=%s\nActiveState=active\nSubState=running\nUnitFileState=enabled\n", name)
			fmt.Fprintf(&files, "/var/lib/clusterctl/units/%s:%s\n", name, r.Digest())
		case resource.Sysctl:
			fmt.Fprintf(&files, "/proc/sys/%s:%s\n", strings.ReplaceAll(name, ".", "/"), r.Value)
		case resource.Module:
			fmt.Fprintf(&modules, "%s loaded\n", name)
		case resource.Image:
			fmt.Fprintf(&images, "%s application/vnd.oci.image.manifest.v1+json %s 1.0 MiB linux/amd64 -\n", name, r.ImageDigest)
		}
	}
	var more strings.Builder
	for _, s := range []struct {
		name string
		text *strings.Builder
	}{{"path", &paths}, {"sum", &sums}, {"unit", &units}, {"file", &files}, {"module", &modules}, {"image", &images}} {
		more.WriteString("@\t" + s.name + "\n" + s.text.String())
	}
	return with(plainAnswer(machine, h), more.String())
}

// split parts what hosts want from what is wanted of the API.
func split(wants []resource.Resource) (byHost map[string][]resource.Resource, objects []resource.Resource) {
	byHost = map[string][]resource.Resource{}
	for _, w := range wants {
		switch w.(type) {
		case resource.Manifest, resource.Node:
			objects = append(objects, w)
		default:
			byHost[w.Key().Host] = append(byHost[w.Key().Host], w)
		}
	}
	return byHost, objects
}
