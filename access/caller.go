package access

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// A Caller is who makes a call, and what they may do.
type Caller struct {
	board.Actor
	// Roles has the caller's role by project. No other project exists for the caller.
	Roles map[string]auth.Role
	// Role is the highest of Roles. It decides which tools the caller is shown.
	Role auth.Role
	// Project is the default for calls that name none; empty means the only one.
	Project string
}

// ProcessPrefix begins the owner of a process that works for one client.
const ProcessPrefix = board.ProcessPrefix

// Local is the caller of a process that works for one client on its user's machine.
// It has the same role in all projects; the first one is the default.
func Local(role auth.Role, projects ...string) *Caller {
	c := &Caller{
		Actor: board.Actor{Principal: "local", Owner: ProcessPrefix + rand.Text()[:12]},
		Roles: map[string]auth.Role{}, Role: role,
	}
	for _, slug := range projects {
		c.Roles[slug] = role
	}
	if len(projects) > 0 {
		c.Project = projects[0]
	}
	return c
}

// May checks that the caller may use a verb in a project. A project in which the
// caller has no role is not found, as if it did not exist.
func (c *Caller) May(v *Verb, project string) error {
	role := c.Roles[project]
	switch {
	case role == auth.None:
		return board.ErrNotFound
	case !v.Allows(role, c.Person):
		return &RoleError{Verb: v, Have: role}
	}
	return nil
}

// MayAnywhere checks that the caller may use a verb in some project.
func (c *Caller) MayAnywhere(v *Verb) error {
	switch {
	case c.Role == auth.None:
		return board.ErrNotFound
	case !v.Allows(c.Role, c.Person):
		return &RoleError{Verb: v, Have: c.Role}
	}
	return nil
}

// Projects lists the projects in which the caller may use a verb, in order. It is
// never nil, which in a filter means all projects.
func (c *Caller) Projects(v *Verb) []string {
	slugs := []string{}
	for _, slug := range slices.Sorted(maps.Keys(c.Roles)) {
		if c.May(v, slug) == nil {
			slugs = append(slugs, slug)
		}
	}
	return slugs
}

// Among returns the named projects if the caller may use the verb in all of them, or
// all projects in which it may if none are named. The result is never nil.
func (c *Caller) Among(v *Verb, named []string) ([]string, error) {
	if named == nil {
		return c.Projects(v), nil
	}
	for _, slug := range named {
		if err := c.May(v, slug); err != nil {
			return nil, err
		}
	}
	return append([]string{}, named...), nil
}

var (
	// ErrKeyRejected means that the server does not know this machine's key, or that
	// the key was revoked or has expired. It is a board.ErrDenied.
	ErrKeyRejected error = &keyError{"the server rejects this machine's key"}
	// ErrNoRole means that this machine's key has no role in any project of the server.
	// It is a board.ErrDenied.
	ErrNoRole error = &keyError{"this machine's key has no role in any project of the server"}
)

type keyError struct{ text string }

func (e *keyError) Error() string { return e.text }
func (*keyError) Unwrap() error   { return board.ErrDenied }

// A RoleError refuses a caller whose role is too low for a verb. It is a
// board.ErrDenied.
type RoleError struct {
	Verb *Verb
	Have auth.Role
}

func (e *RoleError) Error() string {
	if e.Verb.Role == auth.None {
		return fmt.Sprintf("%v: %s is for people only, with the role %v, and this is an agent's key or has the role %v; a key for a person: bossman key create --person NAME --role %[3]v, where the server runs", board.ErrDenied, e.Verb.Name, e.Verb.Person, e.Have)
	}
	return fmt.Sprintf("%v: %s requires the role %v, and this key has the role %v; a key with that role: bossman key create --role %[3]v, where the server runs", board.ErrDenied, e.Verb.Name, e.Verb.Role, e.Have)
}

func (*RoleError) Unwrap() error { return board.ErrDenied }

type callerKey struct{}

// WithCaller returns a context that carries the caller of a request.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller that a context carries. Without one it returns a
// Caller that may do nothing, and false.
func CallerFrom(ctx context.Context) (*Caller, bool) {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c, true
	}
	return &Caller{}, false
}
