package spec

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fieldInfo is one field of a spec type, as its tags describe it.
type fieldInfo struct {
	name     string
	index    []int // for reflect.Value.FieldByIndex
	typ      reflect.Type
	required bool
	enum     []string
	fallback string // the default, for plain values
	min, max int    // for numbers; 0, 0: no limit
}

// fieldsOf lists the fields of a struct type in the order of the source, those of inline structs
// among them. A field without omitempty is required.
func fieldsOf(t reflect.Type) []fieldInfo {
	var out []fieldInfo
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if options == "inline" {
			for _, f := range fieldsOf(sf.Type) {
				f.index = append([]int{i}, f.index...)
				out = append(out, f)
			}
			continue
		}
		f := fieldInfo{name: name, index: []int{i}, typ: sf.Type, required: options != "omitempty"}
		f.readRules(sf.Tag.Get("jsonschema"))
		out = append(out, f)
	}
	return out
}

// readRules reads the part of a jsonschema tag that the reader enforces itself.
func (f *fieldInfo) readRules(tag string) {
	for rule := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(rule, "=")
		switch key {
		case "enum":
			f.enum = append(f.enum, value)
		case "default":
			f.fallback = value
		case "minimum":
			f.min, _ = strconv.Atoi(value)
		case "maximum":
			f.max, _ = strconv.Atoi(value)
		}
	}
}

// elem is the struct type behind pointers and lists, or nil.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// fieldHomes lists, for every field name, the paths of the objects that have it:
// "podCIDR" is in "spec.network".
func fieldHomes() map[string][]string {
	homes := map[string][]string{}
	var walk func(path string, t reflect.Type)
	walk = func(path string, t reflect.Type) {
		for _, f := range fieldsOf(t) {
			if !slices.Contains(homes[f.name], path) {
				homes[f.name] = append(homes[f.name], path)
			}
			if child := elem(f.typ); child != nil {
				next := strings.TrimPrefix(path+"."+f.name, ".")
				if f.typ.Kind() == reflect.Slice {
					next += "[]"
				}
				walk(next, child)
			}
		}
	}
	walk("", reflect.TypeFor[Cluster]())
	return homes
}
