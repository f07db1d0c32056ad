package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"clusterctl/phases/state"
	"clusterctl/phases/state/bucket"
	"clusterctl/provision/spec"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"
)

// ageVariable holds a private key that opens encrypted secrets, or the name of a file with some.
const ageVariable = "CLUSTERCTL_AGE_IDENTITY"

// openState opens the state where the spec says that it is. It reads and changes nothing.
func (o *clusterOptions) openState(ctx context.Context, c *spec.Cluster) (*state.Dir, error) {
	d := state.Open(c.Path, c.Metadata.Name)
	d.Sealed.Identities = o.identities
	for _, text := range c.Spec.State.AgeRecipients {
		r, err := spec.ParseAgeRecipient(text)
		if err != nil {
			return nil, usagef("spec.state.ageRecipients: %v", err) // the spec was checked: not met
		}
		d.Sealed.Names = append(d.Sealed.Names, text)
		d.Sealed.Recipients = append(d.Sealed.Recipients, r)
	}
	if s3 := c.Spec.State.S3; s3 != nil {
		store, err := bucket.Open(ctx, bucket.Place{Endpoint: s3.Endpoint, Region: s3.Region, Bucket: s3.Bucket, Prefix: s3.Prefix})
		if err != nil {
			return nil, err
		}
		d.Shared = store
	}
	return d, nil
}

// identities reads the private keys from the environment.
func (o *clusterOptions) identities() ([]age.Identity, error) {
	value := strings.TrimSpace(os.Getenv(ageVariable))
	if value == "" {
		return nil, errors.New(ageVariable + " is not set")
	}
	text, from := []byte(value), ageVariable
	if !strings.HasPrefix(value, "AGE-SECRET-KEY-") && !strings.HasPrefix(value, "-----BEGIN ") && !strings.HasPrefix(value, "#") {
		var err error
		if text, err = os.ReadFile(value); err != nil {
			return nil, fmt.Errorf("%s: %w", ageVariable, err)
		}
		from = value
	}
	var ids []age.Identity
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN ")) {
		ids, err = o.sshIdentity(text, from)
	} else {
		ids, err = age.ParseIdentities(bytes.NewReader(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no private key of age or SSH: %w", from, hideKey(err))
	}
	return ids, nil
}

// sshIdentity reads an SSH private key, and asks for the passphrase of one that is encrypted.
func (o *clusterOptions) sshIdentity(pem []byte, from string) ([]age.Identity, error) {
	id, err := agessh.ParseIdentity(pem)
	if locked, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok && locked.PublicKey != nil {
		id, err = agessh.NewEncryptedSSHIdentity(locked.PublicKey, pem, func() ([]byte, error) { return o.passphrase(from) })
	}
	return []age.Identity{id}, err
}

// hideKey keeps the text of a damaged key out of messages: age quotes it.
func hideKey(err error) error {
	text := err.Error()
	if i := strings.IndexByte(text, '"'); i >= 0 {
		text = strings.TrimSpace(text[:i])
	}
	return errors.New(text)
}
