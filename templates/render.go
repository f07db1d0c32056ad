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

// all is every template, read once: a plan of a thousand hosts renders ten thousand files.
var all = template.Must(template.New("").Option("missingkey=error").ParseFS(files, "*.tmpl"))

// Render gives the template name filled from data. A field that data lacks is an error.
func Render(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := all.ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("fill template %s: %w", name, err)
	}
	return out.Bytes(), nil
}
