package pki

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

const hidden = "***"

// Secret is text that must not be shown. Every way of printing it gives ***; only [Secret.Reveal]
// gives the text. The text is behind a pointer, so that reflection over a struct that holds a
// Secret in an unexported field (where fmt cannot call methods) prints an address.
type Secret struct{ text *string }

// NewSecret hides a copy of b.
func NewSecret[T ~string | ~[]byte](b T) Secret {
	s := string(b)
	return Secret{&s}
}

// Reveal gives a copy of the text: for a file that only its reader may open, never for people.
func (s Secret) Reveal() []byte {
	if s.text == nil {
		return nil
	}
	return []byte(*s.text)
}

// Empty says that there is nothing to hide.
func (s Secret) Empty() bool { return s.text == nil || *s.text == "" }

// Equal compares in a time that does not depend on the text.
func (s Secret) Equal(t Secret) bool {
	return subtle.ConstantTimeCompare(s.Reveal(), t.Reveal()) == 1
}

func (Secret) String() string               { return hidden }
func (Secret) GoString() string             { return hidden }
func (Secret) Format(f fmt.State, _ rune)   { fmt.Fprint(f, hidden) }
func (Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
