package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Field is what a provider takes as one input.
type Field struct {
	Kind   string           `json:"kind"` // string, number, bool, list, map, object, any
	Of     *Field           `json:"of,omitempty"`
	Fields map[string]Field `json:"fields,omitempty"`
}

// Fields is the inputs of the types of a provider, and the arguments of its functions, by token.
type Fields map[string]map[string]Field

// ReadFields reads a file that Write wrote.
func ReadFields(path string) (Fields, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the provider's fields: %w", err)
	}
	var f Fields
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read the provider's fields: %w", err)
	}
	return f, nil
}

// Write stores the fields for a plugin that is told of them in FieldsVariable.
func (f Fields) Write(path string) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// Problem is an input that the provider would not take.
type Problem struct{ Field, Text string }

// Problems checks the inputs of one thing, or the arguments of one call: names and kinds, at every
// depth.
func (f Fields) Problems(token string, inputs map[string]any) []Problem {
	known, ok := f[token]
	if !ok {
		return []Problem{{"", "the provider has no " + token}}
	}
	var out []Problem
	problems(&out, "", known, inputs)
	return out
}

func problems(out *[]Problem, path string, known map[string]Field, inputs map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if strings.HasPrefix(name, "__") {
			continue // the engine's own
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		f, ok := known[name]
		if !ok {
			*out = append(*out, Problem{at, "unknown property"})
			continue
		}
		f.check(out, at, inputs[name])
	}
}

func (f Field) check(out *[]Problem, at string, v any) {
	bad := func() { *out = append(*out, Problem{at, fmt.Sprintf("need %s, got %T", f.Kind, v)}) }
	switch v := v.(type) {
	case nil:
	case string:
		// The engine stands for what is not known yet with a text.
		if f.Kind != "string" && f.Kind != "any" && !strings.HasPrefix(v, "04da6b54") {
			bad()
		}
	case float64, int:
		if f.Kind != "number" && f.Kind != "any" {
			bad()
		}
	case bool:
		if f.Kind != "bool" && f.Kind != "any" {
			bad()
		}
	case []any:
		if f.Kind != "list" {
			bad()
			return
		}
		for i, e := range v {
			f.Of.check(out, at+"["+strconv.Itoa(i)+"]", e)
		}
	case map[string]any:
		f.checkMap(out, at, v, bad)
	}
}

func (f Field) checkMap(out *[]Problem, at string, v map[string]any, bad func()) {
	switch f.Kind {
	case "object":
		problems(out, at, f.Fields, v)
	case "map":
		for _, k := range slices.Sorted(maps.Keys(v)) {
			f.Of.check(out, at+"."+k, v[k])
		}
	case "any":
	default:
		bad()
	}
}

// sdk finds the source of a provider's typed SDK, in the version that the module in dir asks for;
// it is fetched once.
func sdk(ctx context.Context, dir, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", module, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", fmt.Errorf("fetch %s: %w", module, err)
	}
	return m.Dir, nil
}

// FieldsOfSDK is FieldsOf for tokens such as aws:ec2/vpc:Vpc and aws:ec2/getVpcs:getVpcs, whose
// packages are below root.
func FieldsOfSDK(root string, tokens []string) (Fields, error) {
	var dirs []string
	for _, t := range tokens {
		_, rest, _ := strings.Cut(t, ":")
		module, _, _ := strings.Cut(rest, "/")
		if dir := filepath.Join(root, module); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return FieldsOf(dirs, tokens)
}

// source is a typed SDK's package as text: what its structs have.
type source struct {
	structs map[string]*ast.StructType
	args    map[string]string // token -> struct of its inputs or arguments
}

// FieldsOf reads the inputs of resource types, and the arguments of functions, out of the source of a
// provider's typed Go SDK: the tags of its plain structs. The SDK is only read, not compiled.
func FieldsOf(dirs []string, tokens []string) (Fields, error) {
	s := source{structs: map[string]*ast.StructType{}, args: map[string]string{}}
	for _, dir := range dirs {
		if err := s.read(dir); err != nil {
			return nil, fmt.Errorf("read the SDK: %w", err)
		}
	}
	out := Fields{}
	for _, typ := range tokens {
		name, ok := s.args[typ]
		if !ok {
			return nil, fmt.Errorf("the SDK in %s has no %s", strings.Join(dirs, ", "), typ)
		}
		if _, ok := s.structs[name]; ok {
			out[typ] = s.fields(name)
			continue
		}
		for have := range s.structs { // iAMMember's are iammemberArgs
			if strings.EqualFold(have, name) && strings.HasPrefix(have[strings.Index(have, ".")+1:], strings.ToLower(name[strings.Index(name, ".")+1:][:1])) {
				out[typ] = s.fields(have)
			}
		}
	}
	return out, nil
}

// read takes the structs of a package, and which of them are the inputs of which type.
func (s *source) read(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no Go files in %s: %w", dir, err)
	}
	pkg := filepath.Base(dir)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if st, ok := n.Type.(*ast.StructType); ok {
					s.structs[pkg+"."+n.Name.Name] = st
				}
			case *ast.FuncDecl:
				s.function(pkg, n)
			case *ast.CallExpr:
				s.register(pkg, n)
			}
			return true
		})
	}
	return nil
}

// register notes ctx.RegisterResource("TOKEN", name, args, &resource): the resource's name is that
// of the token's last part, its plain inputs are the struct of that name with a small letter.
func (s *source) register(pkg string, call *ast.CallExpr) {
	if tok := tokenOf(call, "RegisterResource"); tok != "" {
		name := tok[strings.LastIndex(tok, ":")+1:]
		s.args[tok] = pkg + "." + strings.ToLower(name[:1]) + name[1:] + "Args"
	}
}

// function notes func GetVpcs(ctx, args *GetVpcsArgs, ...) that calls ctx.Invoke("TOKEN", args, ...).
func (s *source) function(pkg string, f *ast.FuncDecl) {
	args := ""
	for _, p := range f.Type.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok || len(p.Names) != 1 || p.Names[0].Name != "args" {
			continue
		}
		if t, ok := star.X.(*ast.Ident); ok {
			args = pkg + "." + t.Name
		}
	}
	if args == "" || f.Body == nil {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if tok := tokenOf(call, "Invoke"); tok != "" {
				s.args[tok] = args
			}
		}
		return true
	})
}

// tokenOf gives TOKEN of a call ctx.METHOD("TOKEN", ...); empty for any other.
func tokenOf(call *ast.CallExpr, method string) string {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != method || len(call.Args) < 1 {
		return ""
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return ""
	}
	tok, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return tok
}

// fields gives the tagged fields of a struct, PKG.NAME.
func (s *source) fields(name string) map[string]Field {
	pkg, _, _ := strings.Cut(name, ".")
	out := map[string]Field{}
	st, ok := s.structs[name]
	if !ok {
		return out
	}
	for _, f := range st.Fields.List {
		if f.Tag == nil {
			continue
		}
		text, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		if tag := reflect.StructTag(text).Get("pulumi"); tag != "" {
			out[tag] = s.field(pkg, f.Type)
		}
	}
	return out
}

func (s *source) field(pkg string, t ast.Expr) Field {
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.field(pkg, t.X)
	case *ast.ArrayType:
		of := s.field(pkg, t.Elt)
		return Field{Kind: "list", Of: &of}
	case *ast.MapType:
		of := s.field(pkg, t.Value)
		return Field{Kind: "map", Of: &of}
	case *ast.Ident:
		switch t.Name {
		case "string":
			return Field{Kind: "string"}
		case "int", "float64":
			return Field{Kind: "number"}
		case "bool":
			return Field{Kind: "bool"}
		}
		if _, ok := s.structs[pkg+"."+t.Name]; ok {
			return Field{Kind: "object", Fields: s.fields(pkg + "." + t.Name)}
		}
		return Field{Kind: "string"} // an enumeration
	}
	return Field{Kind: "any"}
}
