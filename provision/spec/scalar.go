package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scalar reads one value. Text is the literal text of the file, whatever YAML would make of it:
// 1.30, yes and 0x10 stay as they are written.
func (r *reader) scalar(path *field.Path, n *yaml.Node, v reflect.Value, f fieldInfo) {
	switch v.Kind() {
	case reflect.String:
		r.text(path, n, v, f)
	case reflect.Int:
		r.number(path, n, v, f)
	case reflect.Bool:
		r.boolean(path, n, v)
	default:
		panic(fmt.Sprintf("spec: field %s has type %s, which the reader does not know", pathText(path), v.Type()))
	}
}

func (r *reader) text(path *field.Path, n *yaml.Node, v reflect.Value, f fieldInfo) {
	if n.Kind != yaml.ScalarNode {
		r.reject(path, positionOf(n), "expected text, found "+describe(n), "")
		return
	}
	if strings.ContainsFunc(n.Value, unicode.IsControl) {
		r.reject(path, positionOf(n), "has a line break or another control character in it", "write it on one line")
		return
	}
	if len(f.enum) > 0 && n.Value != "" && !slices.Contains(f.enum, n.Value) {
		r.reject(path, positionOf(n), fmt.Sprintf("must be %s, got %q", oneOf(f.enum), n.Value), suggestValue(n.Value, f.enum))
		return
	}
	v.SetString(n.Value)
}

// oneOf joins alternatives: "a", "a or b", "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// number takes plain decimal numbers only: YAML's 0x10, 1_000, 1e3 and quoted numbers are refused.
func (r *reader) number(path *field.Path, n *yaml.Node, v reflect.Value, f fieldInfo) {
	i, err := strconv.Atoi(n.Value)
	plain := n.Kind == yaml.ScalarNode && n.Style == 0
	switch {
	case !plain || err != nil || strconv.Itoa(i) != n.Value:
		suggestion := ""
		if n.Kind == yaml.ScalarNode && !plain && err == nil {
			suggestion = fmt.Sprintf("write %d without quotes", i)
		}
		r.reject(path, positionOf(n), "expected a whole number, found "+describe(n), suggestion)
	case len(f.enum) > 0 && !slices.Contains(f.enum, n.Value):
		r.reject(path, positionOf(n), fmt.Sprintf("must be %s, got %d", oneOf(f.enum), i), "")
	case i < f.min:
		r.reject(path, positionOf(n), fmt.Sprintf("must be at least %d, got %d", f.min, i), "")
	case f.max > 0 && i > f.max:
		r.reject(path, positionOf(n), fmt.Sprintf("must be at most %d, got %d", f.max, i), "")
	default:
		v.SetInt(int64(i))
	}
}

func (r *reader) boolean(path *field.Path, n *yaml.Node, v reflect.Value) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 {
		switch n.Value {
		case "true", "false":
			v.SetBool(n.Value == "true")
			return
		}
	}
	suggestion := ""
	switch strings.ToLower(n.Value) {
	case "true", "yes", "on", "y":
		suggestion = "write true"
	case "false", "no", "off", "n":
		suggestion = "write false"
	}
	r.reject(path, positionOf(n), "expected true or false, found "+describe(n), suggestion)
}

// describe says what kind of thing a node is, with its text when it is short.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	text := n.Value
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "..."
	}
	switch {
	case n.Style != 0:
		return fmt.Sprintf("the text %q", text)
	case isNull(n):
		return "nothing"
	}
	return fmt.Sprintf("%q", text)
}
