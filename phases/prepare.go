package phases

import (
	"fmt"
	"io"
	"slices"
	"time"

	"clusterctl/components"
	"clusterctl/components/bundle"
	"clusterctl/components/release"
	"clusterctl/phases/state"
	"clusterctl/pki"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Sources is what a cluster value is prepared from.
type Sources struct {
	Spec      *spec.Cluster
	Inventory inventory.Inventory
	State     *state.Dir
	Bundle    *bundle.Bundle
	Now       time.Time
	Rand      io.Reader
}

// Prepared is a cluster value, and what making it changed in the state.
type Prepared struct {
	Cluster  *Cluster
	Fresh    bool         // there was no state: this run founds the cluster
	Issued   []pki.Change // certificates that were issued, with their reasons
	identity state.Identity
}

// MembersError says that the spec's control planes are not those that etcd was founded with.
type MembersError struct{ Text string }

func (e *MembersError) Error() string { return e.Text }

// ExitCode is the contract's code for a spec that cannot be followed.
func (e *MembersError) ExitCode() int { return 3 }

// Prepare makes the cluster value: secrets are read, or made when there are none, and every
// certificate of the table is issued. It writes nothing; Save does.
func Prepare(src Sources) (Prepared, error) {
	rel, err := release.For(src.Spec.Spec.Kubernetes.Version)
	if err != nil {
		return Prepared{}, err
	}
	secrets, found, err := src.State.Secrets()
	if err != nil {
		return Prepared{}, err
	}
	if !found {
		opts := pki.Options{Cluster: src.Spec.Metadata.Name, Algorithm: pki.Algorithm(src.Spec.Spec.PKI.Algorithm)}
		if secrets, err = pki.New(opts, src.Now, src.Rand); err != nil {
			return Prepared{}, err
		}
	}
	issued, err := secrets.Ensure(pki.Table(src.Spec, src.Inventory), src.Now, src.Rand)
	if err != nil {
		return Prepared{}, err
	}
	id, err := identity(src, secrets)
	if err != nil {
		return Prepared{}, err
	}
	c := &Cluster{Spec: src.Spec, Inventory: src.Inventory, Release: rel, Secrets: secrets, Identity: etcdIdentity(id), Binaries: binaries(src.Bundle)}
	return Prepared{Cluster: c, Fresh: !found, Issued: issued, identity: id}, nil
}

// Save stores secrets, inventory and identity: all before the first host sees a part of them.
func (p Prepared) Save(dir *state.Dir) error {
	if err := dir.SaveSecrets(p.Cluster.Secrets); err != nil {
		return err
	}
	if err := dir.SaveInventory(p.Cluster.Inventory); err != nil {
		return err
	}
	return dir.SaveIdentity(p.identity)
}

// etcdIdentity is what components see of the identity.
func etcdIdentity(id state.Identity) components.Identity {
	out := components.Identity{EtcdToken: id.EtcdToken, EtcdClusterID: id.EtcdClusterID}
	for _, m := range id.EtcdMembers {
		out.EtcdMembers = append(out.EtcdMembers, components.EtcdMember{Name: m.Name, PeerURL: m.PeerURL})
	}
	return out
}

// identity reads the decision which etcd cluster this is, or makes it, once.
func identity(src Sources, secrets *pki.Secrets) (state.Identity, error) {
	var members []state.Member
	for _, h := range src.Inventory.ControlPlanes() {
		members = append(members, state.Member{Name: h.Name, PeerURL: components.URL("https", h.Address.String(), components.EtcdPeerPort)})
	}
	id, found, err := src.State.Identity()
	if err != nil {
		return state.Identity{}, err
	}
	if found {
		return id, sameMembers(id.EtcdMembers, members)
	}
	return state.Identity{
		ClusterUID: secrets.ClusterUID(), Name: src.Spec.Metadata.Name, SpecPath: src.Spec.Path, EtcdToken: secrets.EtcdToken(),
		EtcdMembers: members, EtcdClusterID: state.EtcdClusterID(secrets.EtcdToken(), members),
	}, nil
}

// sameMembers refuses a changed set of control planes: replacing members needs steps that an
// ordinary up does not take, and a silent change would lose the quorum.
func sameMembers(have, want []state.Member) error {
	for _, m := range have {
		i := slices.IndexFunc(want, func(w state.Member) bool { return w.Name == m.Name })
		if i < 0 {
			return &MembersError{fmt.Sprintf("spec.controlPlane: %s is an etcd member and not in the spec any more; put it back: control planes cannot be removed by up", m.Name)}
		}
		if want[i].PeerURL != m.PeerURL {
			return &MembersError{fmt.Sprintf("spec.controlPlane: etcd member %s was founded at %s, the spec now says %s; give the host its address back", m.Name, m.PeerURL, want[i].PeerURL)}
		}
	}
	for _, w := range want {
		if !slices.Contains(have, w) {
			return &MembersError{fmt.Sprintf("spec.controlPlane: %s is no etcd member of this cluster; take it out: control planes cannot be added by up", w.Name)}
		}
	}
	return nil
}

// binaries are the bundle's artifacts as components see them.
func binaries(b *bundle.Bundle) map[string]components.Binary {
	out := map[string]components.Binary{}
	if b == nil {
		return out
	}
	for _, a := range b.Artifacts() {
		out[a.Name] = components.Binary{
			Name: a.Name, Version: a.Version, SHA256: a.SHA256, Size: a.Size, Reference: a.Reference, ImageDigest: a.ImageDigest,
			Open: func() (io.ReadCloser, error) { return b.Open(a) },
		}
	}
	return out
}
