package spec

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
)

func (v *validator) checkKubernetes() {
	path := at("kubernetes", "version")
	if version := v.c.Spec.Kubernetes.Version; !regexp.MustCompile(versionPattern).MatchString(version) {
		v.add(path, "need x.y.z, got "+version, "")
	}
}

// Bounds of etcd's space quota: below, a new cluster's own objects may not fit; above, a member
// takes too long to restart and to catch up. etcd's documentation (System limits) suggests at
// most 8 GiB.
const (
	minQuota = 256 << 20
	maxQuota = 64 << 30
)

func (v *validator) checkEtcd() {
	path := at("etcd", "quota")
	text := v.c.Spec.Etcd.Quota
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		v.add(path, fmt.Sprintf("need a size such as 8Gi, got %q", text), "")
	case q.Value() < minQuota:
		v.add(path, fmt.Sprintf("%s are %d bytes, need at least 256Mi", text, q.Value()), "8Gi is usual")
	case q.Value() > maxQuota:
		v.add(path, fmt.Sprintf("%s is more than 64Gi, with which a member cannot restart in time", text), "8Gi is usual")
	}
}

// EtcdQuota is the space quota of an etcd member in bytes.
func (c *Cluster) EtcdQuota() int64 {
	q, err := resource.ParseQuantity(c.Spec.Etcd.Quota)
	if err != nil {
		return 0
	}
	return q.Value()
}

func (v *validator) checkPreflight() {
	for i, name := range v.c.Spec.Host.IgnorePreflight {
		if len(content.IsDNS1123Label(name)) > 0 {
			v.add(at("host", "ignorePreflight").Index(i),
				fmt.Sprintf("need the name of a preflight check, got %q", name), "the findings show the names")
		}
	}
}
