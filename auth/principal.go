package auth

import "time"

// A Principal is a credential that was checked: who calls. It is shared by all
// calls with the credential, so nobody changes it.
type Principal struct {
	// ID is stable: "key:" and the key's id, or "tok:" and a hash of a token's issuer
	// and subject.
	ID string
	// Name is what people are shown.
	Name string
	// Person is set for a person's credential; others are an agent's.
	Person bool
	// Owner is the person who answers for it.
	Owner string
	// Key is the key's id, empty for a token.
	Key string
	// Grants has a role by the project's slug, or by EveryProject.
	Grants map[string]Role
	// Expires is when it ends, zero for never.
	Expires time.Time
	// Revoked is closed when the principal may do nothing more: revoked, expired, its
	// owner disabled, or forgotten, so that it has to show itself again. It needs Run.
	Revoked <-chan struct{}
}

// Role is the highest role in a project.
func (p *Principal) Role(project string) Role {
	if project == EveryProject {
		return p.Grants[EveryProject]
	}
	return max(p.Grants[project], p.Grants[EveryProject])
}

// Best is the highest role anywhere.
func (p *Principal) Best() Role {
	best := None
	for _, r := range p.Grants {
		best = max(best, r)
	}
	return best
}

// May reports whether the role in a project is at least this one. None is for
// nobody.
func (p *Principal) May(project string, least Role) bool {
	return least > None && p.Role(project) >= least
}
