package state

// Identity is what makes this cluster this one. It is written before the first etcd member
// starts: a run that finds it joins, and never founds a second cluster.
type Identity struct {
	ClusterUID    string   `json:"clusterUID"`
	Name          string   `json:"name"`
	SpecPath      string   `json:"specPath"`
	EtcdToken     string   `json:"etcdToken"`
	EtcdMembers   []Member `json:"etcdMembers"`   // those that the cluster was founded with
	EtcdClusterID string   `json:"etcdClusterID"` // hex, as etcd prints it; see EtcdClusterID
}

// Member is a founding member of the etcd cluster.
type Member struct {
	Name    string `json:"name"`
	PeerURL string `json:"peerURL"` // https://192.0.2.1:2380
}

// Identity reads the cluster's identity; false when it has none yet.
func (d *Dir) Identity() (Identity, bool, error) {
	var id Identity
	ok, err := d.readJSON(identityName, &id)
	if !ok {
		return Identity{}, false, err
	}
	return id, true, nil
}

// SaveIdentity stores the identity; it returns when it is safe on disk.
func (d *Dir) SaveIdentity(id Identity) error { return d.writeJSON(identityName, id) }
