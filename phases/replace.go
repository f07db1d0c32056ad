package phases

import (
	"fmt"

	"clusterctl/phases/etcdapi"
)

const useRestore = "bring another member back, or use etcd restore"

// replaceRefusals judges whether the others are a quorum without the member that is made anew.
func replaceRefusals(c *Cluster) []Refusal {
	if c.Members == nil {
		return []Refusal{{c.Replacing, "no quorum: no etcd member tells who the others are", useRestore}}
	}
	m, _ := c.Members.Find(c.Replacing, "")
	if err := c.Members.MayRemove(m.ID); err != nil {
		return []Refusal{{c.Replacing, err.Error(), useRestore}}
	}
	return nil
}

// ReplaceArithmetic tells what becomes of the quorum while a member is made anew.
func ReplaceArithmetic(c *Cluster, name string) string {
	text := "etcd: " + c.Members.Arithmetic()
	m, ok := c.Members.Find(name, "")
	if !ok || !m.Voter || c.Replacing != name {
		return text
	}
	rest := c.Members.Without(m.ID)
	added := append(rest, etcdapi.Entry{Name: name, Voter: true, Alive: true})
	return fmt.Sprintf("%s; without %s %s; when it votes again %s", text, m.Title(), rest.Arithmetic(), added.Arithmetic())
}
