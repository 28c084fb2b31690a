package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"
	"time"
)

// A Key is an API key as it is stored: without what opens it.
type Key struct {
	// ID is the middle of the key's text. It is no secret.
	ID string
	// Name is what people are shown.
	Name string
	// Owner is the person who answers for it.
	Owner string
	// Person is set for the owner's own key; others are for agents.
	Person bool
	// Project is where it counts: a slug, or EveryProject.
	Project string
	Role    Role

	Created time.Time
	// Expires is zero for never; LastUsed is up to a minute old.
	Expires, LastUsed, Revoked time.Time
	// Hash is SHA-256 of the secret.
	Hash [32]byte
	// OwnerDisabled is when the owner was disabled, which ends the key too.
	OwnerDisabled time.Time
}

// Ended reports whether the key opens nothing at a time.
func (k *Key) Ended(now time.Time) bool {
	return !k.Revoked.IsZero() || !k.OwnerDisabled.IsZero() || !k.Expires.IsZero() && !now.Before(k.Expires)
}

func (k *Key) principal(revoked <-chan struct{}) *Principal {
	return &Principal{
		ID: "key:" + k.ID, Name: k.Name, Person: k.Person, Owner: k.Owner, Key: k.ID,
		Grants: map[string]Role{k.Project: k.Role}, Expires: k.Expires, Revoked: revoked,
	}
}

// A key reads bossman_<id>_<secret>: 12 and 56 characters of base32 in lower case.
// The secret is 256 random bits and 24 bits of checksum, which tells a key that was
// mistyped or cut off.
const (
	keyPrefix   = "bossman_"
	keyIDLen    = 12
	secretLen   = 32
	checksumLen = 3
)

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

var keyLen = len(keyPrefix) + keyIDLen + 1 + base32Lower.EncodedLen(secretLen+checksumLen)

// newKey makes the id, the text and the hash of a key.
func newKey() (id string, text Secret, hash [32]byte) {
	id = strings.ToLower(rand.Text()[:keyIDLen])
	secret := make([]byte, secretLen, secretLen+checksumLen)
	_, _ = rand.Read(secret) // it never fails
	hash = sha256.Sum256(secret)
	sum := checksum(id, secret)
	text = Secret(keyPrefix + id + "_" + base32Lower.EncodeToString(append(secret, sum[:]...)))
	return id, text, hash
}

// parseKey takes a key's text apart. It reports false for what cannot be a key.
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
	n, err := base32Lower.Decode(b[:], []byte(rest[keyIDLen+1:])) // skips line ends
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

// CheckKey finds out without asking anybody whether a text can be a key: whether it
// was mistyped or cut off.
func CheckKey(text string) error {
	if _, _, ok := parseKey(text); !ok {
		return invalid("this is no key: one begins with %s and has %d characters; it may be mistyped or cut off", keyPrefix, keyLen)
	}
	return nil
}

// NewKey is what a key is made from.
type NewKey struct {
	// Name is what people are shown; the owner's name, or "<owner>'s agent", if empty.
	Name string
	// Owner is the person who answers for it.
	Owner string
	// Person is set for the owner's own use; else it is for an agent.
	Person  bool
	Project string // a slug, or EveryProject
	Role    Role
	Expires time.Time // zero: never
}

// maxName bounds names, in bytes.
const maxName = 100

// checkName refuses a name that cannot be shown as it is.
func checkName(what, s string) error {
	switch {
	case s == "":
		return invalid("%s has no name", what)
	case len(s) > maxName:
		return invalid("the name of %s has more than %d bytes", what, maxName)
	case s != strings.TrimSpace(s) || strings.ContainsFunc(s, unprintable) || strings.ToValidUTF8(s, "") != s:
		return invalid("%.100q cannot be the name of %s: it has characters that are not shown", s, what)
	}
	return nil
}

func (n *NewKey) check(now time.Time) error {
	if err := checkName("a person", n.Owner); err != nil {
		return err
	}
	if err := checkName("a key", n.Name); err != nil {
		return err
	}
	switch {
	case !validProject(n.Project):
		return invalid("%.40q cannot be a project's short name, nor is it * for every project", n.Project)
	case n.Role <= None || n.Role > Admin:
		return invalid("a key needs a role: %s", strings.Join(roleNames[1:], ", "))
	case !n.Expires.IsZero() && !n.Expires.After(now):
		return invalid("a key that expires in the past opens nothing")
	}
	return nil
}
