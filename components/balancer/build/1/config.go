package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
)

// config is the file given by --config.
type config struct {
	Listen     []string  `json:"listen"`     // addresses that clients on the host use
	Health     string    `json:"health"`     // address of the status page, empty for none
	CAFile     string    `json:"caFile"`     // who signs the API servers' certificates
	ServerName string    `json:"serverName"` // a name in each of those certificates
	Backends   []backend `json:"backends"`

	roots *x509.CertPool
}

// backend is one API server.
type backend struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port
	Prefer  bool   `json:"prefer"`  // take this one while it is ready
}

// loadConfig reads the file and the CA file that it names. All problems are
// reported at once; an unknown key is one.
func loadConfig(path string) (config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return config{}, fmt.Errorf("read the configuration: %w", err)
	}
	var c config
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return config{}, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return config{}, fmt.Errorf("%s: text after the configuration object", path)
	}
	if err := c.validate(); err != nil {
		return config{}, fmt.Errorf("%s: %w", path, err)
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return config{}, fmt.Errorf("%s: caFile: %w", path, err)
	}
	c.roots = x509.NewCertPool()
	if !c.roots.AppendCertsFromPEM(pem) {
		return config{}, fmt.Errorf("%s: caFile: %s holds no certificate", path, c.CAFile)
	}
	return c, nil
}

func (c config) validate() error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	address := func(field, value string) {
		if _, _, err := net.SplitHostPort(value); err != nil {
			report("%s: %w", field, err)
		}
	}
	if len(c.Listen) == 0 {
		report("listen: no address")
	}
	for i, a := range c.Listen {
		address(fmt.Sprintf("listen[%d]", i), a)
	}
	if c.Health != "" {
		address("health", c.Health)
	}
	if len(c.Backends) == 0 {
		report("backends: none")
	}
	names := map[string]bool{}
	for i, b := range c.Backends {
		field := fmt.Sprintf("backends[%d]", i)
		if b.Name == "" {
			report("%s.name: missing", field)
		} else if names[b.Name] {
			report("%s.name: %q is there twice", field, b.Name)
		}
		names[b.Name] = true
		address(field+".address", b.Address)
	}
	return errors.Join(problems...)
}

// sameListeners says whether c can replace old in a running process.
func (c config) sameListeners(old config) bool {
	return c.Health == old.Health && slices.Equal(c.Listen, old.Listen)
}
