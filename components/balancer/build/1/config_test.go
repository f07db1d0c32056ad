package main

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadConfigReportsAllProblems(t *testing.T) {
	dir := t.TempDir()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	write(t, filepath.Join(dir, "ca.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	write(t, filepath.Join(dir, "empty.crt"), "nothing")
	tests := map[string]struct {
		text string
		want []string // none is a good file
	}{
		"good":        {`{"listen":["127.0.0.1:7443","[::1]:7443"],"caFile":"ca.crt","serverName":"kubernetes","backends":[{"name":"a","address":"10.0.0.1:6443"}]}`, nil},
		"unknown key": {`{"listens":[]}`, []string{`unknown field "listens"`}},
		"not JSON":    {`listen: []`, []string{"invalid character"}},
		"text after":  {`{} {}`, []string{"text after"}},
		"all missing": {`{}`, []string{"listen: no address", "backends: none"}},
		"bad entries": {`{"listen":["x"],"health":"y","backends":[{"name":"a","address":"z"},{"name":"a","address":"h:1"},{"address":"h:2"}]}`,
			[]string{"listen[0]: ", "health: ", "backends[0].address: ", `backends[1].name: "a" is there twice`, "backends[2].name: missing"}},
		"no CA file": {`{"listen":["h:1"],"caFile":"none.crt","backends":[{"name":"a","address":"h:1"}]}`, []string{"caFile: ", "no such file"}},
		"empty CA":   {`{"listen":["h:1"],"caFile":"empty.crt","backends":[{"name":"a","address":"h:1"}]}`, []string{"holds no certificate"}},
	}
	t.Chdir(dir)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.json")
			write(t, path, test.text)
			_, err := loadConfig(path)
			if (err == nil) != (test.want == nil) {
				t.Fatalf("error %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
