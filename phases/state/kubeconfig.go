package state

import "fmt"

const kubeconfigSuffix = ".kubeconfig"

// WriteKubeconfig stores a kubeconfig as <name>.kubeconfig and gives its path.
func (d *Dir) WriteKubeconfig(name string, data []byte) (path string, err error) {
	if !plainElement(name) {
		return "", fmt.Errorf("write kubeconfig: name %q must be one plain path element", name)
	}
	file := name + kubeconfigSuffix
	if err := d.write(file, data); err != nil {
		return "", err
	}
	return d.file(file), nil
}
