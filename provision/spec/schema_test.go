package spec_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/spec"

	generate "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write generated files anew")

// generateSchema makes the schema from the types and their comments.
func generateSchema(t *testing.T) []byte {
	t.Helper()
	r := &generate.Reflector{Anonymous: true}
	if err := r.AddGoComments("clusterctl/provision/spec", ".", generate.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	for k, text := range r.CommentMap {
		r.CommentMap[k] = strings.ReplaceAll(text, "\n", " ")
	}
	s := r.Reflect(&spec.Cluster{})
	s.Title = "clusterctl cluster spec"
	one := uint64(1)
	provider := s.Definitions["Provider"]
	provider.MinProperties, provider.MaxProperties = &one, &one
	for _, def := range s.Definitions {
		for p := def.Properties.Oldest(); p != nil; p = p.Next() {
			// Load reads any scalar as text, so that v: 4 and flag: true need no quotes.
			if values := p.Value.AdditionalProperties; values != nil && values.Type == "string" {
				p.Value.AdditionalProperties = &generate.Schema{AnyOf: []*generate.Schema{
					{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
			}
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSchemaIsCurrent(t *testing.T) {
	want := generateSchema(t)
	if *update {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := spec.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("schema.json is not what the types say; run go generate ./provision/spec")
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := spec.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if draft := doc.(map[string]any)["$schema"]; draft != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema = %v", draft)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spec.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("spec.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemaError validates YAML text as an editor does.
func schemaError(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaAcceptsWhatLoadAccepts(t *testing.T) {
	s := compileSchema(t)
	texts := map[string][]byte{}
	for _, kind := range spec.ExampleKinds() {
		texts[kind] = spec.Example(kind)
	}
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if texts[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	texts["unquoted arguments"] = []byte(edit(t, "version: v1.37.2", "version: v1.37.2\n    kubeletArgs: {v: 4, serialize-image-pulls: false}"))
	for name, text := range texts {
		if _, err := spec.Parse(name, text); err != nil {
			t.Errorf("load: %v", err)
		}
		if err := schemaError(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compileSchema(t)
	for _, tt := range []struct{ name, old, new, want string }{
		{"unknown field", "controlPlane:", "network: {serviceCIRD: 10.90.0.0/16}\n  controlPlane:", "serviceCIRD"},
		{"missing field", "  name: dev\n", "  {}\n", "name"},
		{"short version", "version: v1.37.2", "version: \"1.30\"", "/spec/kubernetes/version"},
		{"enumeration", "controlPlane:", "network: {cni: calico}\n  controlPlane:", "/spec/network/cni"},
		{"no provider", "local: {}", "{}", "/spec/provider"},
		{"two providers", "local: {}", "{local: {}, ssh: {}}", "/spec/provider"},
		{"two control planes", "replicas: 1\n\n  # Hosts", "replicas: 2\n\n  # Hosts", "/spec/controlPlane/replicas"},
		{"underscore", "name: dev", "name: d_v", "/metadata/name"},
		{"format", "clusterctl/v1alpha1", "clusterctl/v2", "/apiVersion"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := schemaError(t, s, []byte(edit(t, tt.old, tt.new)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %s", err, tt.want)
			}
		})
	}
}

func TestSchemaDescribesEveryField(t *testing.T) {
	text, err := spec.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Defs map[string]struct {
			Description string
			Properties  map[string]struct{ Description string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Defs) < 10 {
		t.Fatalf("only %d definitions", len(s.Defs))
	}
	for name, def := range s.Defs {
		if def.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for field, p := range def.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
}
