package resource

import (
	"fmt"
	"slices"
)

const (
	KindMember      Kind = "member"
	KindVoter       Kind = "voter"
	KindNoMember    Kind = "no-member"
	KindNoPods      Kind = "no-pods"
	KindNoNode      Kind = "no-node"
	KindVacant      Kind = "vacant"
	KindAside       Kind = "aside"
	KindSeed        Kind = "seed"
	gone                 = "gone"
	stillThere           = "there"
	voting               = "voter"
	clusterEtcdData      = "/var/lib/etcd/member"
)

// Ending is a resource that is the absence of something.
type Ending interface {
	Resource
	// Ends gives the keys whose facts hold no longer once it is true.
	Ends() []Key
}

// Gone is the fact of an Ending that holds.
func Gone() Fact { return Fact{Exists: true, Digest: gone} }

// Present is the fact of an Ending that does not hold; why tells people what is there.
func Present(why string) Fact { return Fact{Exists: true, Digest: stillThere, Detail: why} }

// Member is an entry in etcd's member list. A new one is added as a learner, which does not count
// towards the quorum; Voter makes it count.
type Member struct {
	Name    string // of the host and the member
	PeerURL string // https://192.0.2.1:2380
}

func (m Member) Key() Key       { return Key{"", KindMember, m.Name} }
func (m Member) Digest() string { return m.PeerURL }
func (m Member) Title() string  { return fmt.Sprintf("etcd member %s at %s", m.Name, m.PeerURL) }
func (Member) resource()        {}

// Voter is an etcd member that counts towards the quorum.
type Voter struct{ Name, PeerURL string }

func (v Voter) Key() Key       { return Key{"", KindVoter, v.Name} }
func (v Voter) Digest() string { return voting }
func (v Voter) Title() string  { return "vote of etcd member " + v.Name }
func (Voter) resource()        {}

// MemberFacts gives the facts of a member that is in the list.
func MemberFacts(name, peerURL string, votes bool) Facts {
	v := Fact{Exists: true, Digest: "learner", Detail: "a learner"}
	if votes {
		v = Fact{Exists: true, Digest: voting}
	}
	return Facts{
		Member{Name: name}.Key(): {Exists: true, Digest: peerURL, Detail: "is at " + peerURL},
		Voter{Name: name}.Key():  v,
	}
}

// NoMember is an etcd member that is not in the list any more. A member that leads hands the lead
// on first, and none goes while the others are no quorum without it.
type NoMember struct{ Name, PeerURL string }

func (n NoMember) Key() Key       { return Key{"", KindNoMember, n.Name} }
func (n NoMember) Digest() string { return gone }
func (n NoMember) Title() string  { return "etcd member " + n.Name }
func (n NoMember) Ends() []Key    { return []Key{Member{Name: n.Name}.Key(), Voter{Name: n.Name}.Key()} }
func (NoMember) resource()        {}

// NoNode is a node object that is not there any more.
type NoNode struct{ Name string }

func (n NoNode) Key() Key       { return Key{"", KindNoNode, n.Name} }
func (n NoNode) Digest() string { return gone }
func (n NoNode) Title() string  { return "node object " + n.Name }
func (n NoNode) Ends() []Key    { return []Key{Node{Host: n.Name}.Key()} }
func (NoNode) resource()        {}

// NoPods is a node that was drained for good: it is cordoned and leaves.
type NoPods struct{ Node string }

func (n NoPods) Key() Key       { return Key{"", KindNoPods, n.Node} }
func (n NoPods) Digest() string { return gone }
func (n NoPods) Title() string  { return "pods of node " + n.Node + "; they move to others" }
func (n NoPods) Ends() []Key    { return nil }
func (NoPods) resource()        {}

// Vacant is a host that has nothing of the cluster any more: no unit, file, pod, device or rule.
type Vacant struct {
	Host  string
	UID   string     // the cluster's; a host of another is not touched
	Owned []Resource // what the cluster may have put there
	Purge bool       // etcd's data is deleted; else it is renamed
}

func (v Vacant) Key() Key       { return Key{v.Host, KindVacant, "host"} }
func (v Vacant) Digest() string { return gone }
func (v Vacant) Title() string {
	title := "units, files and pods on " + v.Host
	etcd := slices.ContainsFunc(v.Owned, func(r Resource) bool { return r.Key().Kind == KindUnit && r.Key().Name == "etcd.service" })
	switch {
	case !etcd:
		return title
	case v.Purge:
		return title + ", with etcd's data"
	}
	return title + "; etcd's data is renamed"
}
func (v Vacant) Ends() []Key { return nil }
func (Vacant) resource()     {}

// Aside is etcd's data of an earlier life, out of the way: its unit is stopped and the data is
// renamed, never deleted.
type Aside struct{ Host string }

func (a Aside) Key() Key       { return Key{a.Host, KindAside, clusterEtcdData} }
func (a Aside) Digest() string { return gone }
func (a Aside) Title() string  { return "etcd's old data in " + clusterEtcdData + "; it is renamed" }
func (a Aside) Ends() []Key {
	return []Key{{a.Host, KindUnit, "etcd.service"}}
}
func (Aside) resource() {}

// SeedOver is the digest of a seed that counts no longer.
const SeedOver = "over"

// Seed is a file that is read once, by the first start of a program, and counts for nothing as
// soon as what that start makes is there.
type Seed struct {
	File  File
	Until string // path of what the first start makes
}

func (s Seed) Key() Key       { return Key{s.File.Host, KindSeed, s.File.Path} }
func (s Seed) Digest() string { return s.File.Digest() }
func (s Seed) Title() string  { return s.File.Path }
func (Seed) resource()        {}
