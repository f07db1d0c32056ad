package state

import (
	"fmt"

	"clusterctl/pki"
)

// Secrets reads the cluster's secrets; false when there are none yet. A file that cannot be read
// or is damaged is an error and never "none": new keys would lock everybody out of the cluster.
func (d *Dir) Secrets() (*pki.Secrets, bool, error) {
	data, ok, err := d.read(secretsName)
	if err != nil || !ok {
		return nil, false, err
	}
	s, err := pki.Decode(data)
	if err != nil {
		return nil, false, fmt.Errorf("%s is damaged: %w: restore it from a backup; it holds the cluster's only keys and cannot be made anew", d.file(secretsName), err)
	}
	return s, true, nil
}

// SaveSecrets stores the secrets; it returns when they are safe on disk.
func (d *Dir) SaveSecrets(s *pki.Secrets) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	return d.write(secretsName, data)
}
