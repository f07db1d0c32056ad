package spec

import (
	_ "embed" // for the schema
	"slices"
)

//go:generate go test -run TestSchemaIsCurrent -update .

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (draft 2020-12) of the spec file, for editors. It is made from the
// types and their comments; what it cannot say, such as overlapping ranges, Load checks.
func Schema() ([]byte, error) { return slices.Clone(schema), nil }
