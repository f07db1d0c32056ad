package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// Sealed is how secrets are encrypted: for whom, and who we are. The zero value encrypts nothing.
type Sealed struct {
	// Names are the recipients as the spec has them; they are not secret.
	Names      []string
	Recipients []age.Recipient
	// Identities gives the private keys that can open the secrets. It is called when there is
	// something to open. nil: there are none.
	Identities func() ([]age.Identity, error)
}

func (s Sealed) on() bool { return len(s.Recipients) > 0 }

// readers is the content of the file that tells who can open the secrets.
func (s Sealed) readers() []byte { return []byte(strings.Join(s.Names, "\n") + "\n") }

// seal encrypts data, as text.
func (s Sealed) seal(data []byte) ([]byte, error) {
	var out bytes.Buffer
	text := armor.NewWriter(&out)
	w, err := age.Encrypt(text, s.Recipients...)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = text.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt the secrets: %w", err)
	}
	return out.Bytes(), nil
}

// open decrypts what seal gave.
func (s Sealed) open(data []byte) ([]byte, error) {
	if s.Identities == nil {
		return nil, &SealedError{errors.New("it is encrypted and there is no private key")}
	}
	ids, err := s.Identities()
	if err != nil {
		return nil, &SealedError{err}
	}
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader(data)), ids...)
	if _, none := errors.AsType[*age.NoIdentityMatchError](err); none {
		return nil, &SealedError{errors.New("none of the private keys is one that it is encrypted for")}
	}
	var out []byte
	if err == nil {
		out, err = io.ReadAll(r)
	}
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	return out, nil
}

// SealedError says that encrypted secrets cannot be opened here.
type SealedError struct{ Err error }

func (e *SealedError) Error() string { return e.Err.Error() }
func (e *SealedError) Unwrap() error { return e.Err }
