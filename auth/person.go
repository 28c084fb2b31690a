package auth

import (
	"time"
	"unicode"
)

// A Person is the owner of keys or tokens. A program that uses a token of its own is listed
// as a person, too.
type Person struct {
	// Name is the owner of keys and tokens.
	Name    string
	Created time.Time
	// Disabled is when the person was disabled, or zero. The keys and tokens of a disabled
	// person are not valid.
	Disabled time.Time
	// Keys is the number of keys that are not revoked.
	Keys int
}

// unprintable reports whether r is a control or another invisible character.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }
