package templates

import (
	"strings"
	"testing"
)

func TestRenderFillsATemplate(t *testing.T) {
	text, err := Render("corefile.tmpl", struct{ Domain, Upstream string }{"cluster.local", "192.0.2.53"})
	if err != nil || !strings.Contains(string(text), "kubernetes cluster.local ") || !strings.Contains(string(text), "forward . 192.0.2.53 {") {
		t.Errorf("error %v, text:\n%s", err, text)
	}
}

func TestRenderRefusesWhatIsMissing(t *testing.T) {
	for name, data := range map[string]any{
		"corefile.tmpl": struct{ Domain string }{"cluster.local"}, "service.tmpl": map[string]any{}, "no-such.tmpl": nil,
	} {
		if text, err := Render(name, data); err == nil || text != nil {
			t.Errorf("%s from %v: no error, text %q", name, data, text)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name the template", err)
		}
	}
}

func TestEveryTemplateIsReadAtStart(t *testing.T) {
	entries, err := files.ReadDir(".")
	if err != nil || len(entries) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, e := range entries {
		if all.Lookup(e.Name()) == nil {
			t.Errorf("%s is not among the templates", e.Name())
		}
	}
}
