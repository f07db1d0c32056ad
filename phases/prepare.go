package phases

import (
	"fmt"
	"io"
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

// RoleError says that a host has another role than before.
type RoleError struct{ Text string }

func (e *RoleError) Error() string { return e.Text }

// ExitCode is the contract's code for a spec that cannot be followed.
func (e *RoleError) ExitCode() int { return 3 }

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
	leaving, err := leavers(src)
	if err != nil {
		return Prepared{}, err
	}
	cloud, err := cloudObjects(src.Spec)
	if err != nil {
		return Prepared{}, err
	}
	c := &Cluster{CloudObjects: cloud, Leaving: leaving, Spec: src.Spec, Inventory: src.Inventory, Release: rel, Secrets: secrets, Identity: etcdIdentity(id), Binaries: Binaries(src.Bundle)}
	return Prepared{Cluster: c, Fresh: !found, Issued: issued, identity: id}, nil
}

// Save stores secrets, inventory and identity: all before the first host sees a part of them. Hosts
// that leave stay in the inventory until Left.
func (p Prepared) Save(dir *state.Dir) error {
	if err := dir.SaveSecrets(p.Cluster.Secrets); err != nil {
		return err
	}
	if err := dir.SaveInventory(p.Cluster.Known()); err != nil {
		return err
	}
	return dir.SaveIdentity(p.identity)
}

// Left stores that nothing is left on hosts that the spec does not name.
func (p Prepared) Left(dir *state.Dir) error { return dir.SaveInventory(p.Cluster.Inventory) }

// etcdIdentity is what components see of the identity.
func etcdIdentity(id state.Identity) components.Identity {
	out := components.Identity{EtcdToken: id.EtcdToken, EtcdClusterID: id.EtcdClusterID}
	for _, m := range id.EtcdMembers {
		out.EtcdMembers = append(out.EtcdMembers, components.EtcdMember{Name: m.Name, PeerURL: m.PeerURL})
	}
	return out
}

// identity reads the decision which etcd cluster this is, or makes it, once. Members that come and
// go later do not change it.
func identity(src Sources, secrets *pki.Secrets) (state.Identity, error) {
	id, found, err := src.State.Identity()
	if err != nil || found {
		return id, err
	}
	members := founders(src.Inventory)
	return state.Identity{
		ClusterUID: secrets.ClusterUID(), Name: src.Spec.Metadata.Name, SpecPath: src.Spec.Path, EtcdToken: secrets.EtcdToken(),
		EtcdMembers: members, EtcdClusterID: state.EtcdClusterID(secrets.EtcdToken(), members),
	}, nil
}

// leavers are the hosts of the last run that the spec does not name any more.
func leavers(src Sources) ([]Leaver, error) {
	before, _, err := src.State.Inventory()
	if err != nil {
		return nil, err
	}
	for _, was := range before.ControlPlanes() {
		if is, ok := src.Inventory.Get(was.Name); ok && is.Role != was.Role {
			return nil, &RoleError{fmt.Sprintf("spec: %s was a control plane and is a worker now; take it out of the spec, run up, and add it as a worker then", was.Name)}
		}
	}
	return Leavers(src.Inventory, before.Hosts), nil
}

// Binaries are the bundle's artifacts as components see them.
func Binaries(b *bundle.Bundle) map[string]components.Binary {
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
