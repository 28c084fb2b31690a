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
	// Machine is the machine that a login created it for, empty for other keys. Such a key
	// creates no others.
	Machine string
	// Parent is the id of the key that it was created from, empty if there is none. It ends
	// with its parent.
	Parent string
	// CreatedBy and RevokedBy are who did: the Principal.ID of a caller, or "shell:" and the
	// account of whoever ran a command at the server. They are empty if that is not known.
	CreatedBy, RevokedBy string

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
		ID: KeyPrincipal(k.ID), Name: k.Name, Person: k.Person, Owner: k.Owner, Key: k.ID, Machine: k.Machine, parent: k.Parent,
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
	// Machine is the machine that it is for, if a login creates it.
	Machine string
	// Parent is the id of the key from which it is created, if there is one. The new key gets
	// no more rights than that, and ends with it.
	Parent string
	// By is who creates it, as in Key.CreatedBy.
	By string
}

// MaxMachines is the maximum number of valid keys for machines that a person may have.
const MaxMachines = 50

// allowed checks what is known about a key only when it is stored: its parent, the zero Key
// if it has none, and how many keys for machines its owner has.
func (k *Key) allowed(parent *Key, machines int) error {
	switch {
	case k.Machine != "" && machines >= MaxMachines:
		return denied("%s has %d keys for machines, the maximum; revoke those that are not used: bossman key list, bossman key revoke ID", k.Owner, machines)
	case k.Parent == "":
		return nil
	case parent.Machine != "":
		return denied("key %s is for machine %.60q of %s, and creates no keys; use the key that %s was given, or log in with a browser", parent.ID, parent.Machine, parent.Owner, parent.Owner)
	case parent.Ended(k.Created):
		return denied("key %s of %s has been revoked or has expired", parent.ID, parent.Owner)
	case !parent.Person || parent.Owner != k.Owner:
		return denied("key %s is not the own key of %s", parent.ID, k.Owner)
	case k.Role > parent.Role || parent.Project != EveryProject && parent.Project != k.Project:
		return denied("key %s of %s has the role %v in %s, and creates no key with other rights", parent.ID, parent.Owner, parent.Role, parent.Project)
	case !parent.Expires.IsZero() && (k.Expires.IsZero() || k.Expires.After(parent.Expires)):
		return denied("the key would outlive key %s of %s", parent.ID, parent.Owner)
	}
	return nil
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
	if n.Machine != "" {
		if err := checkName("a machine", n.Machine); err != nil {
			return err
		}
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
