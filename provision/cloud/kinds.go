package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"clusterctl/provision/cloud/aws"
	"clusterctl/provision/cloud/gcp"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/cloud/vsphere"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// kind is one cloud.
type kind struct {
	name    string
	machine string // type of a machine
	disk    string // type of a disk that is not part of a machine; empty: there are none
	// address finds a machine's cluster address in its inputs; empty: it has none.
	address func(inputs map[string]any) string
	// place tells where a machine is, from its id and inputs.
	place func(s *spec.Cluster, id string, inputs map[string]any) inventory.Place
	// harmless are the inputs of a machine that may change while it runs.
	harmless []string
	words    map[string]string
	// sought says whether a thing of a type is looked for when its making was cut off.
	sought  func(typ string) bool
	program func(layout.Cluster) pulumi.RunFunc
	// leftovers is a program that finds what would be left in the cloud; nil: nothing can be found.
	leftovers func(c layout.Cluster, found *[]string) pulumi.RunFunc
}

// hostType is the component around a machine that is a host, in every cloud's program.
const hostType = layout.HostType

func kindOf(s *spec.Cluster) (kind, error) {
	switch p := s.Spec.Provider; {
	case p.AWS != nil:
		return kind{
			name: "AWS", machine: aws.MachineType, address: textOf("privateIp"), harmless: []string{"tags", "tagsAll", "volumeTags", "rootBlockDevice.tags", "vpcSecurityGroupIds"},
			words: aws.Words(), sought: aws.Sought, program: aws.Program, place: aws.Place, leftovers: aws.Leftovers,
		}, nil
	case p.GCP != nil:
		return kind{
			name: "GCP", machine: gcp.MachineType, disk: gcp.DiskType, address: textOf("networkInterfaces", 0, "networkIp"), harmless: []string{"labels", "tags"},
			words: gcp.Words(), sought: gcp.Sought, program: gcp.Program, place: gcp.Place,
		}, nil
	case p.VSphere != nil:
		return kind{
			name: "vSphere", machine: vsphere.MachineType, address: textOf("extraConfig", vsphere.AddressKey), harmless: []string{"annotation"},
			words: vsphere.Words(), sought: vsphere.Sought, program: vsphere.Program, place: vsphere.Place,
		}, nil
	}
	return kind{}, errors.New("spec.provider names no cloud")
}

// textOf finds a text in inputs; a number in the path is an index of a list.
func textOf(path ...any) func(map[string]any) string {
	return func(inputs map[string]any) string {
		var v any = inputs
		for _, key := range path {
			switch key := key.(type) {
			case string:
				m, _ := v.(map[string]any)
				v = m[key]
			case int:
				list, _ := v.([]any)
				if key >= len(list) {
					return ""
				}
				v = list[key]
			}
		}
		text, _ := v.(string)
		return text
	}
}

// word names a type for people.
func (kd kind) word(typ string) string {
	if w, ok := kd.words[typ]; ok {
		return w
	}
	return strings.ToLower(typ[strings.LastIndex(typ, ":")+1:])
}

// checkLeftovers refuses to go on while the cloud has what would be left.
func (kd kind) checkLeftovers(ctx context.Context, k known) error {
	if kd.leftovers == nil {
		return nil
	}
	var found []string
	if err := k.engine.Ask(ctx, kd.leftovers(k.cluster, &found)); err != nil {
		return err
	}
	if len(found) > 0 {
		return &LeftError{Err: fmt.Errorf("there are things in %s that would stay behind: delete the Services of type LoadBalancer and the volumes that have them, or the things themselves; take the cluster's tag off a volume that shall stay", kd.name), Left: found}
	}
	return nil
}
