package layout

import (
	_ "embed" // for the script
	"encoding/base64"
	"encoding/json"
)

//go:embed etcd-disk.sh
var etcdDisk string

// EtcdDiskScript formats the disk that nothing uses and mounts it for etcd. It may run again, at
// every boot; it is done when EtcdMount is a mount point.
func EtcdDiskScript() string { return etcdDisk }

// EtcdMount is where the disk of its own is mounted: etcd's data directory.
const EtcdMount = "/var/lib/etcd"

// CloudConfig is the user data of a machine, in the form of cloud-init. It holds no secret: keys
// come by SSH. loginKey is the public key that may log in, where the cloud does not put it there.
// cloud-init reads JSON, which is YAML.
func CloudConfig(m Machine, etcdDisk bool, loginKey string) string {
	type file struct {
		Path        string `json:"path"`
		Permissions string `json:"permissions"`
		Encoding    string `json:"encoding"`
		Content     string `json:"content"`
	}
	config := struct {
		Hostname         string     `json:"hostname"`
		PreserveHostname bool       `json:"preserve_hostname"`
		PasswordLogin    bool       `json:"ssh_pwauth"`
		LoginKeys        []string   `json:"ssh_authorized_keys,omitempty"`
		Files            []file     `json:"write_files,omitempty"`
		Commands         [][]string `json:"runcmd,omitempty"`
	}{Hostname: m.Name}
	if loginKey != "" {
		config.LoginKeys = []string{loginKey}
	}
	if etcdDisk {
		const path = "/usr/local/sbin/etcd-disk"
		config.Files = []file{{path, "0755", "b64", base64.StdEncoding.EncodeToString([]byte(EtcdDiskScript()))}}
		config.Commands = [][]string{{path}}
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil { // texts and lists: cannot fail
		panic(err)
	}
	return "#cloud-config\n" + string(text) + "\n"
}
