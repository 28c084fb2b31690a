package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/remote"
	"github.com/go-json-experiment/json"
)

// loginIn are the parameters of bossman/login, and loginOut is its result.
type loginIn struct {
	Machine string `json:"machine"`
	Project string `json:"project,omitzero"`
	// Key is the id of the key that the machine has. It is renewed, if it can be.
	Key string `json:"key,omitzero"`
}

type loginOut struct {
	Key string `json:"key,omitzero"`
	// Renewed is set if the key that the machine has was renewed. There is no other then.
	Renewed bool `json:"renewed,omitzero"`

	id, machine string
}

// CreatedKey is the key that was created or renewed, for the audit stream.
func (o loginOut) CreatedKey() (id, machine string) { return o.id, o.machine }

// RequestKey asks the server of a board for a key for a machine. The caller's credential
// must be a person's; project may be empty if it has a role in one project only. If the
// server can renew the key that the machine has, which may be empty, it returns that one.
func RequestKey(ctx context.Context, b *remote.Board, machine, project string, has auth.Secret) (auth.Secret, error) {
	in := loginIn{Machine: machine, Project: project}
	if auth.CheckKey(has.Reveal()) == nil {
		in.Key = strings.Split(has.Reveal(), "_")[1]
	}
	raw, err := b.Send(ctx, access.Login, in)
	if err != nil {
		return "", err
	}
	var out loginOut
	switch err := json.Unmarshal(raw, &out); {
	case err == nil && out.Renewed && in.Key != "":
		return has, nil
	case err != nil || out.Key == "":
		return "", errors.New("the server returned no key")
	}
	return auth.Secret(out.Key), nil
}

const (
	// machineKeyLife is how long a machine's key is valid if it was created from a key.
	machineKeyLife = 180 * 24 * time.Hour
	// loginLife is how long it is valid after a login with a token: only the issuer knows
	// whether the person may still log in, so it has to confirm that every day.
	loginLife = 24 * time.Hour
)

// serveLogin creates or renews a key for a person's machine, with no more rights than the credential
// that asks for it.
func (s *Server) serveLogin(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
	p, _ := r.Principal.Value.(*auth.Principal)
	if err := mayLogin(p); err != nil {
		return nil, remote.EncodeError(err)
	}
	var in loginIn
	if err := json.Unmarshal(r.Params(), &in); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "invalid arguments")
	}
	project := in.Project
	if project == "" {
		if _, every := p.Grants[auth.EveryProject]; every {
			project = auth.EveryProject
		} else if len(p.Grants) == 1 {
			for slug := range p.Grants {
				project = slug
			}
		} else {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "name the project with --project")
		}
	}
	role := p.Role(project)
	if role == auth.None {
		return nil, remote.EncodeError(deniedLogin(fmt.Sprintf("%s has no role in a project %.20q", p.Owner, project)))
	}
	life := machineKeyLife
	if p.Key == "" {
		life = loginLife
	}
	expires := time.Now().Add(life)
	if p.Key != "" && !p.Expires.IsZero() && p.Expires.Before(expires) {
		expires = p.Expires // a key must not create one that outlives it
	}
	machine := cmp.Or(in.Machine, "a machine")
	n := auth.NewKey{
		Name: cmp.Or(p.Owner, p.Name) + " on " + machine, Owner: p.Owner, Person: true,
		Project: project, Role: role, Expires: expires, Machine: machine, Parent: p.Key, By: p.ID,
	}
	if in.Key != "" {
		k, err := s.keys.RenewKey(ctx, in.Key, n)
		if err == nil {
			return loginOut{Renewed: true, id: k.ID, machine: k.Machine}, nil
		}
		if !errors.Is(err, auth.ErrNotFound) {
			return nil, err
		}
	}
	k, secret, err := s.keys.CreateKey(ctx, n)
	switch {
	case errors.Is(err, auth.ErrDenied), errors.Is(err, auth.ErrConflict):
		return nil, remote.EncodeError(deniedLogin(err.Error()))
	case errors.Is(err, auth.ErrInvalid):
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%v", err)
	case err != nil:
		return nil, err
	}
	return loginOut{Key: secret.Reveal(), id: k.ID, machine: k.Machine}, nil
}

// A deniedLogin is why no key was created. It is a board.ErrDenied.
type deniedLogin string

func (e deniedLogin) Error() string { return "no key was created: " + string(e) }
func (deniedLogin) Unwrap() error   { return board.ErrDenied }

// mayLogin checks that a credential may create keys for machines. p may be nil.
func mayLogin(p *auth.Principal) error {
	switch {
	case p == nil:
		return deniedLogin("only a person's credential creates keys for machines")
	case p.Machine != "":
		return deniedLogin(fmt.Sprintf("this is key %s of %s for machine %q, and such a key creates no others; log in with the key that %s was given, or with --browser", p.Key, p.Owner, p.Machine, p.Owner))
	case p.Person:
		return nil
	case p.Key != "":
		return deniedLogin(fmt.Sprintf("only a person's credential creates keys for machines, and this is key %s of %s's agents; whoever runs the server creates a key for a person: bossman key create --person NAME", p.Key, p.Owner))
	}
	return deniedLogin(fmt.Sprintf("only a person's credential creates keys for machines, and nothing says that the token of %s is a person's; whoever runs the server names a claim that only people's tokens have: bossman serve --oauth-person CLAIM=VALUE", p.Owner))
}
