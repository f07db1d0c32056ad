// Package architecture holds the project's layers: who may import whom, and who may print.
package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "clusterctl/"

// pkg is what `go list -json` tells of a package.
type pkg struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports         []string
}

func (p pkg) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// list gives the packages of the main module; nested modules, which become programs of their own,
// are not among them.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// layers says what each part of the tree may import of the project, besides its own subtree where
// it has the mark "self". The first line whose path fits a package counts; * ends a prefix.
var layers = []struct {
	path  string
	allow []string
}{
	// Leaves.
	{"provision/spec", nil},
	{"provision/inventory", nil},
	{"provision/event", nil},
	{"components/resource", nil},
	{"components/release", nil},
	{"templates", nil},

	{"pki", []string{"provision/spec", "provision/inventory"}},
	// Pure: what runs on a host.
	{"components/bundle", []string{"components/release", "provision/event"}},
	{"components*", []string{"self", "templates", "pki", "provision/spec", "provision/inventory", "components/resource", "components/release"}},

	{"provision/host*", []string{"self", "provision/inventory"}},
	{"provision", []string{"provision/event", "provision/inventory", "provision/spec"}},
	{"provision/cloud*", []string{"self", "provision", "provision/event", "provision/inventory", "provision/spec", "provision/host*"}},
	{"provision/local", []string{"provision", "provision/event", "provision/inventory", "provision/spec", "provision/host*"}},
	{"provision/local/localtest", []string{"components/bundle", "components/release"}},
	{"provision/static", []string{"provision", "provision/event", "provision/inventory", "provision/spec", "provision/host*"}},

	{"phases/plan", []string{"components/resource", "provision/inventory"}},
	{"phases/state/bucket", []string{"phases/state"}},
	{"phases/state", []string{"pki", "provision/event", "provision/inventory"}},
	{"phases/health", []string{"provision/event"}},
	{"phases/etcdapi", nil},
	{"phases/kube", []string{"components/resource"}},
	{"phases*", []string{"self", "components*", "pki", "templates", "provision", "provision/event", "provision/host", "provision/inventory", "provision/spec"}},

	{"cmd/internal/view", []string{"components/resource", "phases*", "provision", "provision/event", "provision/inventory", "provision/spec"}},
	{"cmd*", []string{"*"}},
	{"e2e*", []string{"*"}},
}

func fits(pattern, path string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return path == pattern || open && (path == prefix || prefix == "" || strings.HasPrefix(path, prefix+"/"))
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range list(t) {
		i := slices.IndexFunc(layers, func(l struct {
			path  string
			allow []string
		}) bool {
			return fits(l.path, p.path())
		})
		if i < 0 {
			if len(p.GoFiles) > 0 {
				t.Errorf("%s has no line in the table of layers", p.path())
			}
			continue
		}
		layer := layers[i]
		for _, imported := range p.Imports {
			rest, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			allowed := slices.ContainsFunc(layer.allow, func(pattern string) bool {
				return fits(pattern, rest) || pattern == "self" && fits(layer.path, rest)
			})
			if !allowed {
				t.Errorf("%s imports %s, which its layer may not", p.path(), rest)
			}
		}
	}
}

// pure are the parts that compute and touch nothing outside of them.
var pure = []string{"components", "components/balancer", "components/cni", "components/containerd", "components/coredns", "components/etcd",
	"components/flannel", "components/kubernetes", "components/linux", "components/release", "components/resource", "pki", "templates", "phases/plan",
	"provision/inventory"}

func TestPurePackagesDoNoInputOrOutput(t *testing.T) {
	// net.JoinHostPort puts brackets around IPv6 addresses and does no I/O.
	exceptions := map[string]string{"components": "net"}
	found := 0
	for _, p := range list(t) {
		if !slices.Contains(pure, p.path()) {
			continue
		}
		found++
		for _, imported := range p.Imports {
			bad := slices.Contains([]string{"os", "os/exec", "net", "net/http", "syscall", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand"}, imported)
			if bad && exceptions[p.path()] != imported && !(p.path() == "pki" && imported == "log/slog") { // slog.LogValuer hides secrets
				t.Errorf("%s imports %s and must do no I/O", p.path(), imported)
			}
			if rest, ok := strings.CutPrefix(imported, module); ok && fits("provision/host*", rest) {
				t.Errorf("%s imports %s and must not know hosts", p.path(), rest)
			}
		}
	}
	if found != len(pure) {
		t.Errorf("%d of %d pure packages found: %v", found, len(pure), pure)
	}
}

// TestPurePackagesReadNoClock: what is planned follows from its input alone.
func TestPurePackagesReadNoClock(t *testing.T) {
	eachSelector(t, func(p pkg) bool { return slices.Contains(pure, p.path()) }, func(where, selector string) {
		if selector == "time.Now" || selector == "time.Since" {
			t.Errorf("%s: %s in a pure package", where, selector)
		}
	})
}

func TestOnlyViewPrints(t *testing.T) {
	view := func(p pkg) bool {
		return p.path() != "cmd/internal/view" && p.path() != "cmd/clusterctl" && !fits("e2e*", p.path())
	}
	eachSelector(t, view, func(where, selector string) {
		switch selector {
		case "fmt.Print", "fmt.Println", "fmt.Printf", "os.Stdout", "os.Stderr", "log.Print", "log.Printf", "log.Println", "log.Fatal", "log.Fatalf":
			t.Errorf("%s: %s: only cmd/internal/view prints", where, selector)
		}
	})
}

// eachSelector calls do for every x.Y in the files of the packages that keep accepts.
func eachSelector(t *testing.T, keep func(pkg) bool, do func(where, selector string)) {
	t.Helper()
	files := token.NewFileSet()
	for _, p := range list(t) {
		if !keep(p) {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok {
					pos := files.Position(s.Pos())
					do(p.path()+"/"+name+":"+strconv.Itoa(pos.Line), x.Name+"."+s.Sel.Name)
				}
				return true
			})
		}
	}
}
