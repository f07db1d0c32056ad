package preflight

import (
	"strings"

	"clusterctl/phases/observe"
)

// maxNameservers is what resolvers read; the rest is ignored (resolv.conf(5), MAXNS), also by the
// kubelet.
const maxNameservers = 3

// resolver: pods, and with them the cluster's DNS, inherit the host's name servers and search
// domains.
func resolver(m machine) []Finding {
	file, ok := m.report.Resolver()
	lines := m.report.ResolvConf[file]
	var out []Finding
	if !ok && len(m.spec().Network.UpstreamDNS) == 0 {
		out = unusable(file, observe.Servers(lines))
	}
	if n := len(observe.Servers(lines)); n > maxNameservers {
		out = append(out, warning("name the three best", "%s names %d name servers; only the first %d are used", file, n, maxNameservers)...)
	}
	out = append(out, searchDomains(m, file, lines)...)
	for _, domain := range m.report.Wildcards {
		out = append(out, warning("take the domain out of the resolver's configuration, or its wildcard record out of DNS",
			"a made-up name under the search domain %s resolves: in pods every unknown name would", domain)...)
	}
	return out
}

func unusable(file string, servers []string) []Finding {
	const remedy = "set spec.network.upstreamDNS to real name servers, or name them on the host"
	if len(servers) == 0 {
		return failure(remedy, "%s names no name server: cluster DNS would have nobody to ask", file)
	}
	return failure(remedy, "the name servers are loopback addresses (%s in %s), and no other file has the real ones: cluster DNS would ask itself",
		strings.Join(servers, ", "), file)
}

// searchDomains: a cluster domain that ends in a search domain lets names of the one be found in
// the other.
func searchDomains(m machine, file string, lines []string) []Finding {
	cluster := domainName(m.spec().Network.ClusterDomain)
	var out []Finding
	for _, domain := range observe.Search(lines) {
		switch d := domainName(domain); {
		case d == "":
		case d == cluster || strings.HasSuffix(cluster, "."+d):
			out = append(out, failure("set another spec.network.clusterDomain, or take the search domain out of "+file,
				"the cluster's domain %s ends in the host's search domain %s", cluster, d)...)
		case strings.HasSuffix(d, "."+cluster):
			out = append(out, warning("set another spec.network.clusterDomain, or take the search domain out of "+file,
				"the host's search domain %s is inside the cluster's domain %s: the host is part of another cluster's network", d, cluster)...)
		}
	}
	return out
}

func domainName(s string) string { return strings.ToLower(strings.Trim(s, ".")) }
