package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"
	"time"
)

// A Key is an API key as it is stored, without its secret.
type Key struct {
	// ID is the middle part of the key's text. It is not secret.
	ID string
	// Name is the display name.
	Name string
	// Owner is the person responsible for it.
	Owner string
	// Person is set for the owner's own key. Other keys are for agents.
	Person bool
	// Project is where it is valid: a slug, or EveryProject.
	Project string
	Role    Role

	Created time.Time
	// Expires is zero if it never expires. LastUsed is up to a minute old.
	Expires, LastUsed, Revoked time.Time
	// Hash is the SHA-256 hash of the secret.
	Hash [32]byte
	// OwnerDisabled is when the owner was disabled, which invalidates the key.
	OwnerDisabled time.Time
}

// Ended reports whether the key is no longer valid at a time.
func (k *Key) Ended(now time.Time) bool {
	return !k.Revoked.IsZero() || !k.OwnerDisabled.IsZero() || !k.Expires.IsZero() && !now.Before(k.Expires)
}

// KeyPrincipal returns the Principal.ID of a key.
func KeyPrincipal(id string) string { return "key:" + id }

func (k *Key) principal(revoked <-chan struct{}) *Principal {
	return &Principal{
		ID: KeyPrincipal(k.ID), Name: k.Name, Person: k.Person, Owner: k.Owner, Key: k.ID,
		Grants: map[string]Role{k.Project: k.Role}, Expires: k.Expires, Revoked: revoked,
	}
}

// The text of a key is bossman_<id>_<secret>: 12 and 56 characters of base32 in lower case.
// The secret is 256 random bits and a checksum of 24 bits, which detects a mistyped or
// truncated key.
const (
	keyPrefix   = "bossman_"
	keyIDLen    = 12
	secretLen   = 32
	checksumLen = 3
)

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

var keyLen = len(keyPrefix) + keyIDLen + 1 + base32Lower.EncodedLen(secretLen+checksumLen)

// newKey generates the id, the text and the hash of a key.
func newKey() (id string, text Secret, hash [32]byte) {
	id = strings.ToLower(rand.Text()[:keyIDLen])
	secret := make([]byte, secretLen, secretLen+checksumLen)
	_, _ = rand.Read(secret) // it never fails
	hash = sha256.Sum256(secret)
	sum := checksum(id, secret)
	text = Secret(keyPrefix + id + "_" + base32Lower.EncodeToString(append(secret, sum[:]...)))
	return id, text, hash
}

// parseKey parses the text of a key. ok is false if it cannot be a key.
func parseKey(text string) (id string, hash [32]byte, ok bool) {
	rest, found := strings.CutPrefix(text, keyPrefix)
	if !found || len(text) != keyLen || rest[keyIDLen] != '_' {
		return "", hash, false
	}
	id = rest[:keyIDLen]
	for i := range keyIDLen {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return "", hash, false
		}
	}
	var b [secretLen + checksumLen]byte
	n, err := base32Lower.Decode(b[:], []byte(rest[keyIDLen+1:])) // ignores line ends
	if err != nil || n != len(b) {
		return "", hash, false
	}
	sum := checksum(id, b[:secretLen])
	if subtle.ConstantTimeCompare(sum[:], b[secretLen:]) != 1 {
		return "", hash, false
	}
	return id, sha256.Sum256(b[:secretLen]), true
}

func checksum(id string, secret []byte) (sum [checksumLen]byte) {
	var b [len(keyPrefix) + keyIDLen + secretLen]byte
	all := append(append(append(b[:0], keyPrefix...), id...), secret...)
	full := sha256.Sum256(all)
	copy(sum[:], full[:])
	return sum
}

// CheckKey checks, without a query, whether a text can be a key. It detects mistyped and
// truncated keys.
func CheckKey(text string) error {
	if _, _, ok := parseKey(text); !ok {
		return invalid("not a key: want %s and %d characters in all; it may be mistyped or truncated", keyPrefix, keyLen)
	}
	return nil
}

// A NewKey is a key to be created.
type NewKey struct {
	// Name is the display name; default the owner's name, or "<owner>'s agent".
	Name string
	// Owner is the person responsible for it.
	Owner string
	// Person is set for the owner's own key, and not for an agent's.
	Person  bool
	Project string // a slug, or EveryProject
	Role    Role
	Expires time.Time // zero: never
}

// maxName is the maximum length of a name, in bytes.
const maxName = 100

// checkName rejects a name that cannot be displayed.
func checkName(what, s string) error {
	switch {
	case s == "":
		return invalid("%s needs a name", what)
	case len(s) > maxName:
		return invalid("the name of %s is too long: want at most %d bytes", what, maxName)
	case s != strings.TrimSpace(s) || strings.ContainsFunc(s, unprintable) || strings.ToValidUTF8(s, "") != s:
		return invalid("invalid name %.100q of %s: it has unprintable characters", s, what)
	}
	return nil
}

// check validates a new key.
func (n *NewKey) check(now time.Time) error {
	if err := checkName("a person", n.Owner); err != nil {
		return err
	}
	if err := checkName("a key", n.Name); err != nil {
		return err
	}
	switch {
	case !validProject(n.Project):
		return invalid("invalid project %.40q: want a project name, or * for every project", n.Project)
	case n.Role <= None || n.Role > Admin:
		return invalid("a key needs a role: %s", strings.Join(roleNames[1:], ", "))
	case !n.Expires.IsZero() && !n.Expires.After(now):
		return invalid("the key would expire in the past")
	}
	return nil
}
