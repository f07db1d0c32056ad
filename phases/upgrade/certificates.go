package upgrade

import (
	"fmt"
	"strings"
	"time"

	"clusterctl/phases/preflight"
	"clusterctl/pki"
)

// Soak is how long an upgrade may take with all that people wait for in it: no certificate may end
// meanwhile. It is the time in which up renews leaves.
const Soak = pki.RenewWindow

// Certificate is one that ends within Soak.
type Certificate struct {
	Host      string // empty: not of one host alone
	Name      string
	Files     []string // on hosts
	End       time.Time
	Authority bool
	LeftOut   bool // this run leaves its host as it is
}

func (c Certificate) finding() preflight.Finding {
	f := preflight.Finding{Host: c.Host, Check: "certificates", Severity: preflight.SeverityWarning,
		Message: fmt.Sprintf("certificate %s (%s) ends %s", c.Name, strings.Join(c.Files, ", "), c.End.UTC().Format("2006-01-02 15:04 MST")), Remedy: "this run renews it, in phase pki"}
	switch {
	case c.Authority:
		f.Severity = preflight.SeverityError
		f.Message = "authority " + strings.TrimPrefix(f.Message, "certificate ") + ", and with it all that it signed; nothing renews it"
		f.Remedy = "replace it before an upgrade"
	case c.LeftOut:
		f.Message += ", and this run leaves its host out"
		f.Remedy = "clusterctl up renews it"
	}
	return f
}
