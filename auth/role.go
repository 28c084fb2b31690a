package auth

import (
	"slices"
	"strings"
)

// A Role is what a principal may do in a project. Each role includes the ones below it.
type Role uint8

const (
	None Role = iota
	// Viewer reads.
	Viewer
	// Worker takes tasks, reports on them and asks.
	Worker
	// Lead also plans and reviews.
	Lead
	// Admin also changes projects, keys and people.
	Admin
)

var roleNames = []string{"none", "viewer", "worker", "lead", "admin"}

func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "none"
}

// ParseRole parses a role other than none.
func ParseRole(s string) (Role, error) {
	if i := slices.Index(roleNames, s); i > 0 {
		return Role(i), nil
	}
	return None, invalid("invalid role %.40q: want one of %s", s, strings.Join(roleNames[1:], ", "))
}

// EveryProject stands for all projects in Principal.Grants and Key.Project.
const EveryProject = "*"

// validProject reports whether s is EveryProject or can be the slug of a project: a
// lower-case letter, then at most 15 lower-case letters and digits.
func validProject(s string) bool {
	if s == EveryProject {
		return true
	}
	if s == "" || len(s) > 16 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
}
