package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
)

const (
	// sessionLife is how long a browser stays signed in.
	sessionLife = 7 * 24 * time.Hour
	// browserPrefix begins the machine of a key that is a browser's session, so that no other
	// key is taken for one.
	browserPrefix = "browser: "
)

// A KeyDoor lets people in with their keys. A session is a key of its own, made from the
// person's as `bossman login` makes one for a machine: it is in the list of keys, ends with
// the key that it was made from, and can be revoked on any replica.
type KeyDoor struct {
	keys   *auth.Authenticator
	caller CallerOf
}

// A CallerOf returns the caller that a principal is to the board, with its role in each project.
type CallerOf func(ctx context.Context, p *auth.Principal) (*access.Caller, error)

var _ Door = (*KeyDoor)(nil)

// NewKeyDoor returns a KeyDoor for the keys of a server. What people may do is what caller says,
// as for everybody else who uses the server.
func NewKeyDoor(keys *auth.Authenticator, caller CallerOf) *KeyDoor {
	return &KeyDoor{keys: keys, caller: caller}
}

// Keys is true: people type their keys.
func (d *KeyDoor) Keys() bool { return true }

// A signInError is why a key does not open the door, for the sign-in page.
type signInError struct {
	text      string
	principal *auth.Principal // whose key it is, if that is known
}

func (e *signInError) Error() string { return e.text }

// Enter makes a session from a person's key.
func (d *KeyDoor) Enter(ctx context.Context, key string, r *http.Request) (string, time.Time, error) {
	if auth.CheckKey(key) != nil {
		return "", time.Time{}, &signInError{text: "This is not a key. A key begins with bossman_; this one may be mistyped or cut off."}
	}
	p, err := d.authenticate(ctx, key, r)
	switch {
	case errors.Is(err, auth.ErrUnauthenticated):
		return "", time.Time{}, &signInError{text: "This key is not valid. It may have been revoked, or has expired."}
	case err != nil:
		return "", time.Time{}, err
	case !p.Person:
		return "", time.Time{}, &signInError{"This is an agent’s key. People sign in with their own: whoever runs the server makes one with bossman key create --person NAME.", p}
	case p.Machine != "":
		return "", time.Time{}, &signInError{fmt.Sprintf("This key belongs to the machine %q. Sign in with the key that %s was given.", p.Machine, p.Owner), p}
	}
	machine := browserPrefix + browserName(r.UserAgent())
	n := auth.NewKey{
		Name: p.Owner + " in a browser", Owner: p.Owner, Person: true, Machine: machine, Parent: p.Key, By: p.ID,
		Expires: time.Now().Add(sessionLife),
	}
	for project, role := range p.Grants { // a key has one
		n.Project, n.Role = project, role
	}
	if !p.Expires.IsZero() && p.Expires.Before(n.Expires) {
		n.Expires = p.Expires
	}
	k, secret, err := d.keys.CreateKey(ctx, n)
	if errors.Is(err, auth.ErrDenied) || errors.Is(err, auth.ErrConflict) {
		return "", time.Time{}, &signInError{"No session was made: " + err.Error() + ".", p}
	}
	if err != nil {
		return "", time.Time{}, err
	}
	return secret.Reveal(), k.Expires, nil
}

// authenticate checks a key as if it were in the request's header, so that failures count
// against its address.
func (d *KeyDoor) authenticate(ctx context.Context, key string, r *http.Request) (*auth.Principal, error) {
	probe := r.Clone(ctx)
	probe.Header.Del("Authorization")
	probe.Header.Set("X-Api-Token", key)
	return d.keys.Request(probe)
}

// Caller returns the person that a session belongs to.
func (d *KeyDoor) Caller(ctx context.Context, session string) (*access.Caller, error) {
	if auth.CheckKey(session) != nil {
		return nil, auth.ErrUnauthenticated
	}
	p, err := d.keys.Token(ctx, session)
	if err != nil {
		return nil, err
	}
	if !p.Person || !strings.HasPrefix(p.Machine, browserPrefix) {
		return nil, auth.ErrUnauthenticated
	}
	c, err := d.caller(ctx, p)
	if err != nil {
		return nil, err
	}
	c.Name = cmp.Or(p.Owner, p.Name) // the key itself is called after the browser
	return c, nil
}

// Leave revokes the key that is the session.
func (d *KeyDoor) Leave(ctx context.Context, session string) error {
	c, err := d.Caller(ctx, session)
	if errors.Is(err, auth.ErrUnauthenticated) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = d.keys.RevokeKey(ctx, strings.TrimPrefix(c.Principal, auth.KeyPrincipal("")), c.Principal)
	return err
}

// browserName names a browser and its system for the list of keys, as far as its header tells.
func browserName(agent string) string {
	name, system := "unknown", ""
	for _, b := range []string{"Edg", "OPR", "Firefox", "Chrome", "Safari"} { // the more particular first
		if strings.Contains(agent, b+"/") {
			name = b
			break
		}
	}
	switch name {
	case "Edg":
		name = "Edge"
	case "OPR":
		name = "Opera"
	}
	for _, s := range []string{"iPhone", "iPad", "Android", "Windows", "Mac OS X", "Linux"} {
		if strings.Contains(agent, s) {
			system = " on " + strings.Replace(s, "Mac OS X", "macOS", 1)
			break
		}
	}
	return name + system
}
