package auth

import (
	"fmt"
	"io"
	"log/slog"
)

// A Secret is a string that is redacted in all formats, logs and encodings. Package fmt
// redacts it in exported fields only.
type Secret string

const redacted = "[redacted]"

// Reveal returns the text.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string               { return redacted }
func (s Secret) GoString() string             { return redacted }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
