package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"reflect"
)

// MaxSize is the size of the largest spec file that is read, in bytes. A spec of 1,000 hosts has
// a tenth of it.
const MaxSize = 2 << 20

// Load reads, completes and checks the spec file at path. What is wrong in the file comes as one
// *Error with all problems.
func Load(path string) (*Cluster, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return data, nil
}

// Parse is Load for bytes that are in memory; name stands for the file in messages. The result
// has defaults filled in and names, versions and addresses in one spelling, and passed every
// check that needs nothing but the file. Same bytes give the same result.
func Parse(name string, data []byte) (*Cluster, error) {
	v, err := parse(name, data)
	if err != nil {
		return nil, err
	}
	return v.c, nil
}

// parse gives the spec with what knows where in the file each field is.
func parse(name string, data []byte) (*validator, error) {
	if len(data) > MaxSize {
		return nil, &Error{Path: name, Problems: []Problem{{
			Line: 1, Message: fmt.Sprintf("the file is larger than %d bytes", MaxSize)}}}
	}
	root, problems := parseDocument(data)
	if root == nil {
		return nil, &Error{Path: name, Problems: sortProblems(problems)}
	}
	r := newReader()
	c := &Cluster{}
	r.value(nil, root, reflect.ValueOf(c).Elem(), fieldInfo{})
	problems = append(problems, explainFormat(r.problems, root)...)

	c.normalize()
	c.setDefaults()
	v := &validator{c: c, read: r}
	problems = append(problems, v.validate()...)
	if len(problems) > 0 {
		return nil, &Error{Path: name, Problems: sortProblems(problems)}
	}
	sum := sha256.Sum256(data)
	c.Path, c.Hash = name, hex.EncodeToString(sum[:])
	return v, nil
}
