package auth

import (
	"time"
	"unicode"
)

// A Person answers for keys and tokens. Whoever owns a key, or has shown a token,
// is one; a program that shows a token of its own is listed too.
type Person struct {
	// Name is the owner of keys and tokens.
	Name    string
	Created time.Time
	// Disabled is when it was disabled, and zero if it is not. All of a disabled
	// person's keys and tokens open nothing.
	Disabled time.Time
	// Keys counts the keys that were not revoked.
	Keys int
}

// unprintable tells characters that act instead of being shown, or are not seen.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }
