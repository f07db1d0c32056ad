//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"clusterctl/provision/cloud/aws"
	"clusterctl/provision/cloud/gcp"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/cloud/vsphere"
)

// shape is what the datacenter must know of a cloud.
type shape struct {
	pkg, version string
	tokens       []string                                                          // of the types and functions that are used
	machine      string                                                            // the type of an instance
	private      func(th standin.Thing) string                                     // its address; empty: any
	public       func(th standin.Thing, things []standin.Thing) string             // empty: none
	first        func(th standin.Thing, things []standin.Thing) (firstBoot, error) // what it does first
	targets      func(th standin.Thing) []string                                   // ids of instances behind a load balancer
}

// firstBoot is what an image makes of what an instance was told.
type firstBoot struct {
	user, key string
	commands  []string // of a shell
}

// text is a field of nested inputs, by names and by numbers in lists; empty when there is none.
func text(in any, fields ...any) string {
	for _, f := range fields {
		switch f := f.(type) {
		case string:
			m, _ := in.(map[string]any)
			in = m[f]
		case int:
			l, _ := in.([]any)
			if f >= len(l) {
				return ""
			}
			in = l[f]
		}
	}
	s, _ := in.(string)
	return s
}

func onAWS() shape {
	return shape{
		pkg: "aws", version: aws.Version, machine: aws.MachineType, tokens: slices.Concat(aws.Types(), aws.Functions()),
		private: func(th standin.Thing) string { return text(th.Inputs, "privateIp") },
		public: func(th standin.Thing, things []standin.Thing) string {
			i := slices.IndexFunc(things, func(a standin.Thing) bool { return a.Inputs["instance"] == th.ID && a.Outputs["publicIp"] != nil })
			if i < 0 {
				return ""
			}
			return text(things[i].Outputs, "publicIp")
		},
		first: func(th standin.Thing, things []standin.Thing) (firstBoot, error) {
			out, err := cloudInit(text(th.Inputs, "userData"))
			for _, pair := range things {
				if pair.Inputs["keyName"] == th.Inputs["keyName"] && pair.Inputs["publicKey"] != nil {
					out.key = text(pair.Inputs, "publicKey")
				}
			}
			out.user = "admin"
			return out, err
		},
		targets: func(th standin.Thing) []string { return strings.Fields(text(th.Inputs, "targetId")) },
	}
}

func onGCP() shape {
	return shape{
		pkg: "gcp", version: gcp.Version, machine: gcp.MachineType, tokens: slices.Concat(gcp.Types(), gcp.Functions()),
		private: func(th standin.Thing) string { return text(th.Inputs, "networkInterfaces", 0, "networkIp") },
		public: func(th standin.Thing, _ []standin.Thing) string {
			return text(th.Inputs, "networkInterfaces", 0, "accessConfigs", 0, "natIp")
		},
		first: func(th standin.Thing, _ []standin.Thing) (firstBoot, error) {
			user, key, ok := strings.Cut(text(th.Inputs, "metadata", "ssh-keys"), ":")
			if !ok {
				return firstBoot{}, fmt.Errorf("no ssh-keys in the metadata")
			}
			script := base64.StdEncoding.EncodeToString([]byte(text(th.Inputs, "metadata", "startup-script")))
			return firstBoot{user: user, key: key, commands: []string{"echo " + script + " | base64 -d | sh"}}, nil
		},
		targets: func(th standin.Thing) (out []string) {
			members, _ := th.Inputs["instances"].([]any)
			for _, link := range members {
				out = append(out, path.Base(fmt.Sprint(link)))
			}
			return out
		},
	}
}

func onVSphere() shape {
	return shape{
		pkg: "vsphere", version: vsphere.Version, machine: vsphere.MachineType, tokens: slices.Concat(vsphere.Types(), vsphere.Functions()),
		private: func(th standin.Thing) string { return text(th.Inputs, "extraConfig", vsphere.AddressKey) },
		public:  func(standin.Thing, []standin.Thing) string { return "" },
		first: func(th standin.Thing, _ []standin.Thing) (firstBoot, error) {
			data, err := base64.StdEncoding.DecodeString(text(th.Inputs, "extraConfig", "guestinfo.userdata"))
			if err != nil {
				return firstBoot{}, err
			}
			out, err := cloudInit(string(data))
			out.user = "debian"
			return out, err
		},
		targets: func(standin.Thing) []string { return nil },
	}
}

// cloudInit reads user data: keys, and the files and commands as a shell does them.
func cloudInit(data string) (firstBoot, error) {
	if data == "" {
		return firstBoot{}, nil
	}
	var config struct {
		Keys  []string                                      `json:"ssh_authorized_keys"`
		Files []struct{ Path, Permissions, Content string } `json:"write_files"`
		Run   [][]string                                    `json:"runcmd"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "#cloud-config\n")), &config); err != nil {
		return firstBoot{}, fmt.Errorf("user data: %w", err)
	}
	out := firstBoot{key: strings.Join(config.Keys, "\n")}
	for _, f := range config.Files {
		out.commands = append(out.commands, fmt.Sprintf("echo %s | base64 -d >%s; chmod %s %s", f.Content, f.Path, f.Permissions, f.Path))
	}
	for _, c := range config.Run {
		out.commands = append(out.commands, strings.Join(c, " "))
	}
	return out, nil
}
