package observe

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unique"

	"clusterctl/components/resource"
)

// raw is the script's answer: its sections, and of those what facts are looked up in.
type raw struct {
	clock    []float64
	sections map[string][]string // lines by section
	files    map[string][]string // lines by file that was read
	paths    map[string]pathFact
	sums     map[string]string
	units    map[string]map[string]string
	modules  map[string]string
	images   map[string]string // reference -> digest
	swap     []string
}

type pathFact struct {
	kind         string // find's %y: f, d, l
	mode         fs.FileMode
	owner        string
	size         int64
	mtime, ctime string
	target       string
}

const identityPath = "/var/lib/clusterctl/identity.json"

// bootID is another at each boot (random(4)).
const bootID = "/proc/sys/kernel/random/boot_id"

// stampLine is what is remembered of an installed artifact; while size and times stay, so does
// the digest. A change of content always changes ctime (stat(2)). It holds for one boot: what was
// written shortly before a power cut may have been lost.
func (p pathFact) stampLine(path, sum, boot string) string {
	return strings.Join([]string{path, sum, strconv.FormatInt(p.size, 10), p.mtime, p.ctime, boot}, " ")
}

// parse reads the script's answer. It takes what it understands: a program of the host may print
// anything.
func parse(out string) raw {
	r := raw{sections: map[string][]string{}, files: map[string][]string{}, paths: map[string]pathFact{}, sums: map[string]string{}, images: map[string]string{}}
	section := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "@\t"); ok {
			section = name
			continue
		}
		r.line(section, line)
	}
	r.units = units(r.sections["unit"])
	r.modules = r.moduleStates()
	r.swap = r.swaps()
	return r
}

func (r *raw) line(section, line string) {
	switch section {
	case "clock":
		r.clockLine(line)
	case "file": // as grep prints it: path:line
		if path, text, ok := strings.Cut(line, ":"); ok {
			r.files[path] = append(r.files[path], kept(text))
		}
	case "path":
		r.pathLine(strings.Split(line, "\t"))
	case "sum": // a name with a newline begins with a backslash and is none of ours
		if sum, path, ok := strings.Cut(line, "  "); ok {
			r.sums[path] = sum
		}
	case "image":
		if words := strings.Fields(line); len(words) >= 3 {
			r.images[words[0]] = kept(words[2])
		}
	default:
		r.sections[section] = append(r.sections[section], kept(line))
	}
}

// kept is a part of the answer that facts and reports hold on to: without the rest of the answer, and
// once for all hosts that say the same.
func kept(text string) string { return unique.Make(text).Value() }

// clockLine reads seconds; a date program that knows no %N prints it as it is.
func (r *raw) clockLine(line string) {
	t, err := strconv.ParseFloat(line, 64)
	if err != nil {
		whole, _, _ := strings.Cut(line, ".")
		t, err = strconv.ParseFloat(whole, 64)
	}
	if err == nil && t >= 0 && t < maxClock {
		r.clock = append(r.clock, t)
	}
}

// maxClock is the end of the year 9999 in seconds: what time.Time can print.
const maxClock = 253402300799

func (r *raw) pathLine(f []string) {
	if len(f) != 8 {
		return
	}
	mode, err := strconv.ParseUint(f[2], 8, 32)
	size, sizeErr := strconv.ParseInt(f[4], 10, 64)
	if err == nil && sizeErr == nil {
		r.paths[f[0]] = pathFact{kind: f[1], mode: fs.FileMode(mode), owner: f[3], size: size, mtime: f[5], ctime: f[6], target: kept(f[7])}
	}
}

// units reads blocks of "Property=value", parted by empty lines.
func units(lines []string) map[string]map[string]string {
	out := map[string]map[string]string{}
	unit := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			unit = map[string]string{}
			continue
		}
		unit[name] = value
		if name == "Id" {
			out[value] = unit
		}
	}
	return out
}

// first is the first line of a file that was read, or nothing.
func (r raw) first(path string) string {
	if lines := r.files[path]; len(lines) > 0 {
		return strings.TrimSpace(lines[0])
	}
	return ""
}

// sysctl is a kernel setting's value, as sysctl(8) names it.
func (r raw) sysctl(name string) (string, bool) {
	path := "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
	_, ok := r.files[path]
	return strings.Join(strings.Fields(r.first(path)), " "), ok
}

// stamp is what was remembered of a unit or an artifact.
func (r raw) stamp(kind, name string) string {
	return r.first(stampPath(kind, name))
}

func stampPath(kind, name string) string { return "/var/lib/clusterctl/" + kind + "/" + name }

// invocationPath is a link that systemd makes anew at each start of a unit (systemd 236 and newer,
// src/core/unit.c: unit_export_invocation_id). Its times are those of the start.
func invocationPath(unit string) string { return "/run/systemd/units/invocation:" + unit }

// facts turns the answer into the facts of want; unsure are artifacts whose digest must be
// computed, since their stamp is missing or does not fit.
func (r raw) facts(want []resource.Resource) (facts resource.Facts, unsure []resource.Resource) {
	facts = make(resource.Facts, len(want))
	for _, w := range want {
		key := w.Key()
		fact, sure := r.fact(w)
		if !sure {
			unsure = append(unsure, w)
		}
		if fact.Exists {
			facts[key] = fact
		}
	}
	return facts, unsure
}

func (r raw) fact(w resource.Resource) (resource.Fact, bool) {
	name := w.Key().Name
	p, there := r.paths[name]
	switch w.Key().Kind {
	case resource.KindDir:
		if there && p.kind != "d" {
			return resource.Fact{Exists: true, Detail: "is not a directory"}, true
		}
		return resource.Fact{Exists: there, Digest: resource.ModeDigest(p.mode, p.owner)}, true
	case resource.KindFile:
		return resource.Fact{Exists: there, Digest: resource.FileDigest(r.sums[name], p.mode, p.owner)}, true
	case resource.KindLink:
		return resource.Fact{Exists: there, Digest: p.target}, true
	case resource.KindArtifact:
		return r.artifact(name, p, there)
	case resource.KindUnit:
		return r.unit(w.(resource.Unit)), true
	case resource.KindSeed:
		if _, over := r.paths[w.(resource.Seed).Until]; over {
			return resource.Fact{Exists: true, Digest: resource.SeedOver}, true
		}
		return resource.Fact{Exists: there, Digest: resource.FileDigest(r.sums[name], p.mode, p.owner)}, true
	case resource.KindAside:
		if there {
			return resource.Present("data of an earlier life"), true
		}
		return resource.Gone(), true
	case resource.KindRecord:
		return r.record(w.(resource.Record)), true
	case resource.KindVacant:
		return r.vacancy(w.(resource.Vacant)), true
	case resource.KindSysctl:
		v, ok := r.sysctl(name)
		return resource.Fact{Exists: ok, Digest: v}, true
	case resource.KindModule:
		return resource.Fact{Exists: r.modules[name] == "loaded", Digest: r.modules[name]}, true
	case resource.KindImage:
		digest, ok := r.images[name]
		return resource.Fact{Exists: ok, Digest: digest}, true
	case resource.KindSwap:
		if len(r.swap) == 0 {
			return resource.Fact{Exists: true, Digest: "off"}, true
		}
		return resource.Fact{Exists: true, Digest: "on", Detail: strings.Join(r.swap, "; ")}, true
	}
	return resource.Fact{}, true
}

func (r raw) artifact(path string, p pathFact, there bool) (resource.Fact, bool) {
	if !there {
		return resource.Fact{}, true
	}
	if p.kind != "f" {
		return resource.Fact{Exists: true, Detail: "is not a file"}, true
	}
	stamp := strings.Fields(r.stamp("artifacts", StampName(path)))
	if len(stamp) < 2 || p.stampLine(path, stamp[1], r.first(bootID)) != strings.Join(stamp, " ") {
		return resource.Fact{Exists: true}, false
	}
	return resource.Fact{Exists: true, Digest: resource.FileDigest(stamp[1], p.mode, p.owner)}, true
}

// unit: a stamp tells what a unit read at its last good start. When it was started again since,
// by a crash, a boot or by hand, the stamp still holds as long as no file that it reads was changed
// after that.
func (r raw) unit(want resource.Unit) resource.Fact {
	name := want.Name
	u, ok := r.units[name]
	if !ok || u["UnitFileState"] == "" {
		return resource.Fact{}
	}
	fact := resource.Fact{
		Exists: true, Active: u["ActiveState"] == "active" || u["ActiveState"] == "reloading",
		Digest: r.stamp("units", name), Detail: u["UnitFileState"],
	}
	if u["NeedDaemonReload"] == "yes" {
		fact.Detail = resource.NotReloaded
	}
	start, known := r.paths[invocationPath(name)]
	stamp := r.paths[stampPath("units", name)]
	if fact.Active && known && later(start.mtime, stamp.mtime) && slices.ContainsFunc(want.Reads, func(path string) bool {
		p, there := r.paths[path]
		return !there || later(p.ctime, start.mtime) // one that is put there again is newer than the start, too
	}) {
		fact.Digest = resource.Touched
	}
	return fact
}

// later compares two times as find prints them, in seconds.
func later(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x > y
}

// record: a list that has more than is wanted is as good.
func (r raw) record(want resource.Record) resource.Fact {
	lines, there := r.files[resource.RecordPath]
	for _, path := range want.Paths {
		if !slices.Contains(lines, path) {
			return resource.Fact{Exists: there, Detail: path + " is not in it"}
		}
	}
	return resource.Fact{Exists: there, Digest: want.Digest()}
}

// vacancy: a host with the cluster's identity has things of it; the identity goes last.
func (r raw) vacancy(want resource.Vacant) resource.Fact {
	text := strings.Join(r.files[identityPath], "\n")
	if !strings.Contains(text, want.UID) {
		return resource.Gone()
	}
	return resource.Present("not in the spec")
}

// StampName is the name of the file that remembers an artifact, in /var/lib/clusterctl/artifacts.
func StampName(path string) string {
	return strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "-")
}
