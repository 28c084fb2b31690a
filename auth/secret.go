package auth

import (
	"fmt"
	"io"
	"log/slog"
)

// A Secret is a text that does not print itself, in no format and in no log. Package
// fmt asks it only where it can see it: keep it in exported fields.
type Secret string

const redacted = "[redacted]"

// Reveal is the text, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string               { return redacted }
func (s Secret) GoString() string             { return redacted }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
