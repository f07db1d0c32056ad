package phases

import (
	"bytes"
	"encoding/base64"
	"slices"
	"time"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/phases/upgrade"
	"clusterctl/pki"
)

// authorityFiles is where hosts have the authorities.
var authorityFiles = map[pki.Authority]string{
	pki.ClusterCA: components.ClusterCAPath, pki.EtcdCA: components.EtcdCAPath, pki.FrontProxyCA: components.FrontProxyCAPath,
}

// Ending gives the certificates on hosts that end within the time of an upgrade. stored is the secrets
// as the hosts have them: those of c may be renewed already, in memory.
func Ending(c *Cluster, stored *pki.Secrets, skip map[string]bool, now time.Time) ([]upgrade.Certificate, error) {
	files, err := c.resources(nil, nil, secrets)
	if err != nil {
		return nil, err
	}
	var out []upgrade.Certificate
	for _, e := range stored.Expiries() {
		if e.NotAfter.Sub(now) > upgrade.Soak {
			continue
		}
		found := upgrade.Certificate{Host: e.Host, Name: e.Name, End: e.NotAfter, LeftOut: skip[e.Host]}
		if path, ok := authorityFiles[pki.Authority(e.Name)]; ok && e.Host == "" {
			found.Authority, found.Files = true, []string{path}
		} else if leaf, ok := c.Secrets.Leaf(e.Host, e.Name); ok {
			found.Files = holding(files, leaf)
		}
		if len(found.Files) > 0 { // others are on no host
			out = append(out, found)
		}
	}
	return out, nil
}

// holding gives the paths of the files that hold a certificate, as PEM or in a kubeconfig.
func holding(files []resource.Resource, leaf pki.Leaf) []string {
	coded := []byte(base64.StdEncoding.EncodeToString(leaf.CertPEM))
	var out []string
	for _, r := range files {
		f, ok := r.(resource.File)
		if ok && (bytes.Contains(f.Content, leaf.CertPEM) || bytes.Contains(f.Content, coded)) && !slices.Contains(out, f.Path) {
			out = append(out, f.Path)
		}
	}
	return out
}
