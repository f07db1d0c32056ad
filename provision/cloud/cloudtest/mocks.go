// Package cloudtest runs a cloud's program without an engine: what it asks for is recorded.
package cloudtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Asked is one thing that a program asks for.
type Asked struct {
	Type, Name string
	Inputs     map[string]any
}

// Recorder is a cloud that says yes to everything.
type Recorder struct {
	// Answers gives the result of a look-up; nil: nothing is found.
	Answers func(token string, args map[string]any) map[string]any
	// Fails is Answers where a look-up may go wrong.
	Fails func(token string, args map[string]any) (map[string]any, error)

	mu    sync.Mutex
	asked map[string]Asked
}

// NewResource notes what is asked for.
func (r *Recorder) NewResource(a pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = map[string]Asked{}
	}
	key := a.TypeToken + " " + a.Name
	if _, twice := r.asked[key]; twice {
		return "", nil, fmt.Errorf("%s is asked for twice", key)
	}
	r.asked[key] = Asked{a.TypeToken, a.Name, a.Inputs.Mappable()}
	out := a.Inputs.Copy()
	for _, computed := range []string{"arn", "dnsName", "publicIp", "selfLink", "email", "address"} {
		if _, ok := out[resource.PropertyKey(computed)]; !ok {
			out[resource.PropertyKey(computed)] = resource.NewStringProperty(computed + " of " + a.Name)
		}
	}
	return "id of " + a.Name, out, nil
}

// Call answers a look-up.
func (r *Recorder) Call(a pulumi.MockCallArgs) (resource.PropertyMap, error) {
	if r.Fails != nil {
		out, err := r.Fails(a.Token, a.Args.Mappable())
		return resource.NewPropertyMapFromMap(out), err
	}
	if r.Answers == nil {
		return resource.PropertyMap{}, nil
	}
	return resource.NewPropertyMapFromMap(r.Answers(a.Token, a.Args.Mappable())), nil
}

// Asked lists what was asked for, by type and name.
func (r *Recorder) Asked() []Asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Asked
	for _, key := range slices.Sorted(maps.Keys(r.asked)) {
		out = append(out, r.asked[key])
	}
	return out
}

// Find gives one thing.
func (r *Recorder) Find(t *testing.T, typ, name string) Asked {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.asked[typ+" "+name]
	if !ok {
		t.Fatalf("%s %s is not asked for", typ, name)
	}
	return a
}

// Run runs a program against the recorder.
func (r *Recorder) Run(program pulumi.RunFunc) error {
	return pulumi.RunErr(program, pulumi.WithMocks("clusterctl", "test", r))
}

// Run runs a program that must go well, in a cloud that answers look-ups so.
func Run(t *testing.T, program pulumi.RunFunc, answers func(token string, args map[string]any) map[string]any) *Recorder {
	t.Helper()
	r := &Recorder{Answers: answers}
	if err := r.Run(program); err != nil {
		t.Fatal(err)
	}
	return r
}

// Text is everything that is asked for, as a golden file holds it.
func Text(asked []Asked) string {
	var b strings.Builder
	for _, a := range asked {
		fmt.Fprintf(&b, "%s %s\n", a.Type, a.Name)
		for _, k := range slices.Sorted(maps.Keys(a.Inputs)) {
			var v bytes.Buffer
			enc := json.NewEncoder(&v)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(a.Inputs[k]); err != nil {
				panic(err) // texts, numbers and lists: cannot fail
			}
			fmt.Fprintf(&b, "  %s: %s", k, v.String())
		}
	}
	return b.String()
}

// Key is a public key for tests.
const Key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample clusterctl"
