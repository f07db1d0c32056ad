package spec

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxNodes bounds the nodes that are read, so that aliases of aliases cannot multiply without end.
const maxNodes = 200_000

// position is a place in the file, from 1.
type position struct{ line, column int }

func positionOf(n *yaml.Node) position { return position{n.Line, n.Column} }

// reader fills Go values from a YAML node tree. It reports everything it cannot read and
// remembers where each field stands.
type reader struct {
	problems []Problem
	// at has the position of every field that the file sets, by path.
	at map[string]position
	// unread has the paths whose value is missing or could not be read: checks of them would
	// only repeat what was said already.
	unread map[string]bool

	fields map[reflect.Type][]fieldInfo
	homes  map[string][]string // made for the first unknown field
	active map[*yaml.Node]bool // aliases on the way from the root to here
	nodes  int
}

func newReader() *reader {
	return &reader{
		at:     map[string]position{},
		unread: map[string]bool{},
		fields: map[reflect.Type][]fieldInfo{},
		active: map[*yaml.Node]bool{},
	}
}

// report adds a problem about the field at path.
func (r *reader) report(path *field.Path, at position, message, suggestion string) {
	r.problems = append(r.problems, Problem{Line: at.line, Column: at.column,
		Field: pathText(path), Message: message, Suggestion: suggestion})
}

// reject is report for a field that now has no usable value.
func (r *reader) reject(path *field.Path, at position, message, suggestion string) {
	r.report(path, at, message, suggestion)
	r.unread[pathText(path)] = true
}

// pathText is the path as messages show it; empty for the root.
func pathText(p *field.Path) string {
	if p == nil {
		return ""
	}
	return p.String()
}

// child is the path of a field of the object at p.
func child(p *field.Path, name string) *field.Path {
	if p == nil {
		return field.NewPath(name)
	}
	return p.Child(name)
}

// value reads n into v, which has the type of the field f. Null leaves v as it is.
func (r *reader) value(path *field.Path, n *yaml.Node, v reflect.Value, f fieldInfo) {
	n, leave := r.enter(path, n)
	defer leave()
	if n == nil || isNull(n) {
		return
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.reject(path, positionOf(n), fmt.Sprintf("the explicit YAML tag %s is not supported", n.Tag), "write the plain value")
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		r.object(path, n, v)
	case reflect.Slice:
		r.list(path, n, v)
	case reflect.Map:
		r.texts(path, n, v)
	default:
		r.scalar(path, n, v, f)
	}
}

// enter follows an alias. It gives nil, having reported it, for an alias that contains itself and
// for a tree that is too big. leave must be called when the node has been read.
func (r *reader) enter(path *field.Path, n *yaml.Node) (node *yaml.Node, leave func()) {
	none := func() {}
	if r.nodes++; r.nodes > maxNodes {
		if r.nodes == maxNodes+1 {
			r.reject(path, positionOf(n), fmt.Sprintf("aliases make more than %d values of this file", maxNodes), "write the values out")
		}
		return nil, none
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor == "" {
		return n, none
	}
	if r.active[n] {
		r.reject(path, positionOf(n), fmt.Sprintf("the anchor &%s contains itself", n.Anchor), "")
		return nil, none
	}
	r.active[n] = true
	return n, func() { delete(r.active, n) }
}

// object reads a mapping with known field names into a struct.
func (r *reader) object(path *field.Path, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		r.reject(path, positionOf(n), "expected a mapping of fields, found "+describe(n), "")
		return
	}
	known, ok := r.fields[v.Type()]
	if !ok {
		known = fieldsOf(v.Type())
		r.fields[v.Type()] = known
	}
	set := map[string]bool{}
	at := func(name string) *field.Path { return child(path, name) }
	for _, e := range r.entries(path, n, at) {
		p := at(e.name)
		r.at[pathText(p)] = positionOf(e.key)
		f, ok := find(known, e.name)
		if !ok {
			r.reportUnknown(p, e, known)
			continue
		}
		target := v.FieldByIndex(f.index)
		r.value(p, e.value, target, f)
		set[f.name] = r.unread[pathText(p)] || target.Kind() == reflect.Struct && !r.null(e.value) || !target.IsZero()
	}
	for _, f := range known {
		if f.required && !set[f.name] {
			r.missing(child(path, f.name), n, f)
		}
	}
}

func find(fields []fieldInfo, name string) (fieldInfo, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return fieldInfo{}, false
}

func (r *reader) null(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return isNull(n)
}

// unknownField is the message about a field that no type has.
const unknownField = "unknown field"

func (r *reader) reportUnknown(path *field.Path, e entry, known []fieldInfo) {
	if r.homes == nil {
		r.homes = fieldHomes()
	}
	r.reject(path, positionOf(e.key), unknownField, suggestField(e.name, known, r.homes))
}

func (r *reader) missing(path *field.Path, parent *yaml.Node, f fieldInfo) {
	at, ok := r.at[pathText(path)]
	if !ok {
		at = positionOf(parent)
	}
	suggestion := ""
	if len(f.enum) == 1 {
		suggestion = fmt.Sprintf("write %s: %s", f.name, f.enum[0])
	} else if len(f.enum) > 1 {
		suggestion = "use one of " + strings.Join(f.enum, ", ")
	}
	r.reject(path, at, "is required", suggestion)
}

// list reads a sequence into a slice.
func (r *reader) list(path *field.Path, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		suggestion := ""
		if n.Kind == yaml.ScalarNode {
			suggestion = fmt.Sprintf("write [%s]", n.Value)
		}
		r.reject(path, positionOf(n), "expected a list, found "+describe(n), suggestion)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		p := path.Index(i)
		r.at[pathText(p)] = positionOf(item)
		if r.null(item) {
			r.reject(p, positionOf(item), "the list entry is empty", "fill it in or remove it")
			continue
		}
		r.value(p, item, v.Index(i), fieldInfo{})
	}
}

// texts reads a mapping with free keys and text values.
func (r *reader) texts(path *field.Path, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		r.reject(path, positionOf(n), "expected a mapping of names to text, found "+describe(n), "")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range r.entries(path, n, path.Key) {
		p := path.Key(e.name)
		r.at[pathText(p)] = positionOf(e.key)
		if r.null(e.value) {
			r.reject(p, positionOf(e.key), "has no value", `write "" for an empty one`)
			continue
		}
		text := reflect.New(v.Type().Elem()).Elem()
		r.value(p, e.value, text, fieldInfo{})
		v.SetMapIndex(reflect.ValueOf(e.name), text)
	}
}
