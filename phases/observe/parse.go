package observe

import (
	"io/fs"
	"strconv"
	"strings"

	"clusterctl/components/resource"
)

// raw is the script's answer by sort of line.
type raw struct {
	clock   []float64
	paths   map[string]pathFact
	sums    map[string]string
	units   map[string]map[string]string
	sysctls map[string]string
	modules map[string]string
	stamps  map[string]string
	images  map[string]string // reference -> digest
	swap    []string
	values  map[string][]string
	resolv  map[string][]string
	os      map[string]string
}

type pathFact struct {
	kind         string // find's %y: f, d, l
	mode         fs.FileMode
	owner        string
	size         int64
	mtime, ctime string
	target       string
}

// StampLine is what is remembered of an installed artifact; while size and times stay, so does
// the digest. A change of content always changes ctime (stat(2)).
func (p pathFact) stampLine(path, sum string) string {
	return strings.Join([]string{path, sum, strconv.FormatInt(p.size, 10), p.mtime, p.ctime}, " ")
}

func parse(out string) raw {
	r := raw{paths: map[string]pathFact{}, sums: map[string]string{}, units: map[string]map[string]string{}, sysctls: map[string]string{},
		modules: map[string]string{}, stamps: map[string]string{}, images: map[string]string{}, values: map[string][]string{},
		resolv: map[string][]string{}, os: map[string]string{}}
	var unit map[string]string
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 2 {
			continue
		}
		if f[0] == "unit" {
			unit = r.unitLine(f[1], unit)
			continue
		}
		r.line(f)
	}
	return r
}

func (r *raw) line(f []string) {
	switch {
	case f[0] == "clock":
		if t, err := strconv.ParseFloat(f[1], 64); err == nil {
			r.clock = append(r.clock, t)
		}
	case f[0] == "path" && len(f) >= 9:
		mode, err := strconv.ParseUint(f[3], 8, 32)
		size, sizeErr := strconv.ParseInt(f[5], 10, 64)
		if err == nil && sizeErr == nil {
			r.paths[f[1]] = pathFact{kind: f[2], mode: fs.FileMode(mode), owner: f[4], size: size, mtime: f[6], ctime: f[7], target: f[8]}
		}
	case f[0] == "swap" && len(f) >= 3:
		r.swap = append(r.swap, f[1]+" "+strings.Join(f[2:], " "))
	case f[0] == "image":
		if words := strings.Fields(f[1]); len(words) >= 3 {
			r.images[words[0]] = words[2]
		}
	case f[0] == "os":
		name, value, _ := strings.Cut(f[1], "=")
		r.os[name] = strings.Trim(value, `"'`)
	case len(f) < 3:
	case f[0] == "sum":
		r.sums[f[1]] = f[2]
	case f[0] == "sysctl":
		r.sysctls[f[1]] = strings.Join(f[2:], " ")
	case f[0] == "module":
		r.modules[f[1]] = f[2]
	case f[0] == "stamp":
		r.stamps[f[1]] = f[2]
	case f[0] == "report":
		r.values[f[1]] = append(r.values[f[1]], f[2])
	case f[0] == "resolv":
		r.resolv[f[1]] = append(r.resolv[f[1]], f[2])
	}
}

// unitLine reads "Property=value"; systemctl begins each unit with its own block of properties.
func (r *raw) unitLine(line string, unit map[string]string) map[string]string {
	name, value, ok := strings.Cut(line, "=")
	if !ok {
		return nil // the empty line between two units
	}
	if unit == nil {
		unit = map[string]string{}
	}
	unit[name] = value
	if name == "Id" {
		r.units[value] = unit
	}
	return unit
}

// facts turns the answer into the facts of want; unsure are artifacts whose digest must be
// computed, since their stamp is missing or does not fit.
func (r raw) facts(want []resource.Resource) (facts resource.Facts, unsure []resource.Resource) {
	facts = resource.Facts{}
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
		return r.unit(name), true
	case resource.KindSysctl:
		v, ok := r.sysctls[name]
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
	stamp := strings.Fields(r.stamps[StampName(path)])
	if len(stamp) < 2 || p.stampLine(path, stamp[1]) != strings.Join(stamp, " ") {
		return resource.Fact{Exists: true}, false
	}
	return resource.Fact{Exists: true, Digest: resource.FileDigest(stamp[1], p.mode, p.owner)}, true
}

func (r raw) unit(name string) resource.Fact {
	u, ok := r.units[name]
	if !ok || u["UnitFileState"] == "" {
		return resource.Fact{}
	}
	return resource.Fact{
		Exists: true, Active: u["ActiveState"] == "active" || u["ActiveState"] == "reloading",
		Digest: r.stamps[name], Detail: u["UnitFileState"],
	}
}

// StampName is the name of the file that remembers an artifact, in /var/lib/clusterctl/artifacts.
func StampName(path string) string {
	return strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "-")
}
