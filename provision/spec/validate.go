package spec

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validator checks a spec that has been read, normalised and completed.
type validator struct {
	c        *Cluster
	read     *reader
	problems []Problem
}

// validate gives everything that is wrong beyond what the reader reported.
func (v *validator) validate() []Problem {
	v.checkKubernetes()
	v.checkArguments()
	v.checkNames()
	v.checkProvider()
	v.checkSSH()
	v.checkAWS()
	v.checkGCP()
	v.checkVSphere()
	v.checkNetwork()
	v.checkAddresses()
	v.checkEndpoint()
	v.checkNodes()
	v.checkEtcd()
	v.checkPreflight()
	v.checkUpgradePolicy()
	v.checkState()
	v.checkPeers()
	return v.problems
}

// add reports a problem about the field at path. It says nothing about a field whose value, or
// that of an object around it, could not be read: the reader has said so.
func (v *validator) add(path *field.Path, message, suggestion string) {
	if v.read.unread[""] {
		return
	}
	text := path.String()
	for p := text; p != ""; p = parentPath(p) {
		if v.read.unread[p] {
			return
		}
	}
	at := v.position(text)
	v.problems = append(v.problems, Problem{Line: at.line, Column: at.column,
		Field: text, Message: message, Suggestion: suggestion})
}

// position is where the field stands, or the nearest object around it that the file has.
func (v *validator) position(path string) position {
	for p := path; p != ""; p = parentPath(p) {
		if at, ok := v.read.at[p]; ok {
			return at
		}
	}
	return position{1, 1}
}

// isSet says whether the file has the field, be it null.
func (v *validator) isSet(path *field.Path) bool {
	_, ok := v.read.at[path.String()]
	return ok
}

// where names another field in a message: its path and, when the file has it, its line.
func (v *validator) where(path *field.Path) string {
	if at, ok := v.read.at[path.String()]; ok {
		return fmt.Sprintf("%s on line %d", path, at.line)
	}
	return path.String()
}

// parentPath cuts the last name, index or key off a path.
func parentPath(p string) string {
	if strings.HasSuffix(p, "]") {
		return p[:max(strings.LastIndexByte(p, '['), 0)]
	}
	return p[:max(strings.LastIndexByte(p, '.'), 0)]
}

// at builds the path of a field below spec.
func at(names ...string) *field.Path {
	return field.NewPath("spec", names...)
}
