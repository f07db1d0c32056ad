// Package templates holds the text files that are written on hosts and are neither YAML nor
// JSON. A template takes a struct and has no logic beyond lists and options.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

// Render gives the template name filled from data. A field that data lacks is an error.
func Render(name string, data any) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").ParseFS(files, name)
	if err != nil {
		return nil, fmt.Errorf("read template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("fill template %s: %w", name, err)
	}
	return out.Bytes(), nil
}
