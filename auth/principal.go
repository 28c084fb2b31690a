package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Principal is an authenticated caller. It is shared by all calls with the same
// credential and must not be modified.
type Principal struct {
	// ID is stable: "key:" and the id of the key, or "tok:" and a hash of the token's
	// issuer and subject.
	ID string
	// Name is the display name. A token's begins with its owner.
	Name string
	// Person is set for a person's credential, and not for an agent's.
	Person bool
	// Owner is the person responsible for it.
	Owner string
	// Key is the id of the key, empty for a token.
	Key string
	// Machine is the machine that the key was created for, empty for other credentials. Such
	// a key creates no others.
	Machine string
	parent  string // the id of the key from which the key was created
	// Grants are its roles by project, or for EveryProject.
	Grants map[string]Role
	// Expires is when it expires, or zero.
	Expires time.Time
	// Revoked is closed when the principal is no longer valid: its credential was revoked or
	// lowered, has expired or was evicted from the cache, or its owner was disabled. The caller must
	// authenticate again. It is closed only while Run runs.
	Revoked <-chan struct{}
}

// Role returns the highest role in a project.
func (p *Principal) Role(project string) Role {
	if project == EveryProject {
		return p.Grants[EveryProject]
	}
	return max(p.Grants[project], p.Grants[EveryProject])
}

// Best returns the highest role in any project.
func (p *Principal) Best() Role {
	best := None
	for _, r := range p.Grants {
		best = max(best, r)
	}
	return best
}

// May reports whether the role in a project is at least the given one. It is false for
// None.
func (p *Principal) May(project string, least Role) bool {
	return least > None && p.Role(project) >= least
}

// Rights is a digest of what it may do. Principals with the same ID can differ in it: a key
// that was lowered, or two tokens of one subject.
func (p *Principal) Rights() string {
	h := sha256.New()
	fmt.Fprint(h, p.Person)
	for _, project := range slices.Sorted(maps.Keys(p.Grants)) {
		fmt.Fprint(h, "\n", project, " ", p.Grants[project])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// expired reports whether it is no longer valid at a time.
func (p *Principal) expired(now time.Time) bool { return !p.Expires.IsZero() && !now.Before(p.Expires) }

// sameAs reports whether another principal is the same, with the same rights and the same
// end. A key's rights and end may change.
func (p *Principal) sameAs(q *Principal) bool {
	return p.ID == q.ID && p.Key == q.Key && p.Expires.Equal(q.Expires) && maps.Equal(p.Grants, q.Grants)
}
