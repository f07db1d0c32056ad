package spec

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// distinct finds values that are there twice.
type distinct struct {
	v     *validator
	first map[string]*field.Path
}

func (v *validator) distinct() distinct { return distinct{v, map[string]*field.Path{}} }

// add reports value when an earlier path has it too. what is its name in the message, with %s for
// the value; empty values are no values.
func (d distinct) add(value string, path *field.Path, what string) {
	if value == "" {
		return
	}
	if first, ok := d.first[value]; ok {
		d.v.add(path, fmt.Sprintf(what+" is used twice, also by %s", value, d.v.where(first)), "")
		return
	}
	d.first[value] = path
}
