package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"clusterctl/pki"
)

// Secrets reads the cluster's secrets; false when there are none yet. A file that cannot be read
// or is damaged is an error and never "none": new keys would lock everybody out of the cluster.
func (d *Dir) Secrets() (*pki.Secrets, bool, error) {
	data, name, found, err := d.plainSecrets()
	if err != nil || !found {
		return nil, false, err
	}
	s, err := pki.Decode(data)
	if err != nil {
		return nil, false, fmt.Errorf("%s is damaged: %w: restore it from a backup; it holds the cluster's only keys and cannot be made anew", d.where(name), err)
	}
	return s, true, nil
}

// plainSecrets reads the file that the spec asks for, or else the other: one that was written
// before the spec changed. A run that writes puts the right one in place.
func (d *Dir) plainSecrets() (data []byte, name string, found bool, err error) {
	names := []string{secretsName, sealedName}
	if d.Sealed.on() {
		names = []string{sealedName, secretsName}
	}
	for _, name := range names {
		data, found, err := d.read(name)
		if err != nil {
			return nil, name, false, err
		}
		if !found {
			continue
		}
		if name == sealedName {
			if data, err = d.Sealed.open(data); err != nil {
				return nil, name, false, d.cannotOpen(err)
			}
		}
		return data, name, true, nil
	}
	return nil, "", false, nil
}

func (d *Dir) cannotOpen(err error) error {
	if _, locked := errors.AsType[*SealedError](err); locked {
		readers, _, _ := d.read(readersName) // only for the message
		return fmt.Errorf("open %s: %w: set CLUSTERCTL_AGE_IDENTITY to the private key, or its file, of one of\n%s", d.where(sealedName), err, bytes.TrimSpace(readers))
	}
	return fmt.Errorf("%s is damaged: %w: restore it from a backup; it holds the cluster's only keys and cannot be made anew", d.where(sealedName), err)
}

// where names a file for people.
func (d *Dir) where(name string) string {
	if d.shares(name) {
		return fmt.Sprint(d.Shared) + name
	}
	return d.file(name)
}

// SaveSecrets stores the secrets; it returns when they are safe. What is stored already is left
// alone: encrypting gives other bytes each time.
func (d *Dir) SaveSecrets(s *pki.Secrets) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	if !d.Sealed.on() {
		if err := d.write(secretsName, data); err != nil {
			return err
		}
		return d.drop(sealedName, readersName)
	}
	have, name, found, err := d.plainSecrets()
	if err != nil {
		return err
	}
	readers, _, err := d.read(readersName)
	if err != nil {
		return err
	}
	if !found || name != sealedName || !bytes.Equal(have, data) || !bytes.Equal(readers, d.Sealed.readers()) {
		sealed, err := d.Sealed.seal(data)
		if err != nil {
			return err
		}
		if err := d.write(sealedName, sealed); err != nil {
			return err
		}
		if err := d.write(readersName, d.Sealed.readers()); err != nil {
			return err
		}
	}
	return d.drop(secretsName)
}

// drop deletes files that stand for nothing any more.
func (d *Dir) drop(names ...string) error {
	for _, name := range names {
		if _, found, err := d.read(name); err != nil || !found {
			if err != nil {
				return err
			}
			continue
		}
		if d.shares(name) {
			if err := d.Shared.Remove(name); err != nil {
				return err
			}
			continue
		}
		if err := os.Remove(d.file(name)); err != nil {
			return fmt.Errorf("remove %s: %w", d.file(name), err)
		}
	}
	return nil
}
