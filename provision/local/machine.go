package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/capability"
	"github.com/moby/sys/mountinfo"
)

// modulesDir has the kernel's modules, where the machine has any.
const modulesDir = "/lib/modules"

// errNotRoot is what everybody but root hears.
var errNotRoot = errors.New("local hosts need root: run clusterctl with sudo")

// machine is what hosts depend on and this machine may or may not have.
type machine struct {
	capabilities []string // of this process, as the OCI runtime specification spells them
	modules      bool     // /lib/modules is there
}

// inspect looks at this machine and refuses one that cannot run hosts.
func (p *Provider) inspect() (machine, error) {
	if os.Geteuid() != 0 {
		return machine{}, errNotRoot
	}
	if _, err := exec.LookPath(p.opts.Runc); err != nil {
		return machine{}, fmt.Errorf("find runc for local hosts: %w; run: clusterctl bundle build", err)
	}
	if err := checkCgroups(); err != nil {
		return machine{}, err
	}
	caps, err := capability.NewPid2(0)
	if err == nil {
		err = caps.Load()
	}
	if err != nil {
		return machine{}, fmt.Errorf("read this process's capabilities: %w", err)
	}
	m := machine{modules: isDir(modulesDir)}
	for _, c := range capability.ListKnown() {
		if caps.Get(capability.EFFECTIVE, c) && caps.Get(capability.BOUNDING, c) {
			m.capabilities = append(m.capabilities, "CAP_"+strings.ToUpper(c.String()))
		}
	}
	slices.Sort(m.capabilities)
	return m, nil
}

// checkCgroups wants what systemd in a host needs: cgroup v2, or v1 with systemd's own hierarchy.
func checkCgroups() error {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return fmt.Errorf("look for cgroups: %w", err)
	}
	for _, m := range mounts {
		v2 := m.FSType == "cgroup2" && m.Mountpoint == cgroupRoot
		if v2 || slices.Contains(strings.Split(m.VFSOptions, ","), "name=systemd") {
			return nil
		}
	}
	dir := filepath.Join(cgroupRoot, "systemd")
	return fmt.Errorf("make local hosts: systemd finds no cgroups; run: mkdir -p %[1]s && mount -t cgroup -o none,name=systemd cgroup %[1]s", dir)
}
