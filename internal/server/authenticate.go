package server

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// authenticate tells who has sent a request.
func (s *Server) authenticate(r *http.Request) (mcp.Principal, error) {
	p, err := s.principal(r)
	if err != nil {
		status, after := auth.Status(err)
		e := &streamable.AuthError{Status: status, Challenge: s.keys.Challenge(err), RetryAfter: time.Duration(after) * time.Second}
		if status == http.StatusUnauthorized {
			e.Text = "this takes a good key, in X-Api-Token or as Authorization: Bearer"
		}
		return mcp.Principal{}, e
	}
	if p.Best() == auth.None {
		return mcp.Principal{}, &streamable.AuthError{
			Status: http.StatusForbidden, Challenge: s.keys.StepUp(auth.Viewer), Text: "this credential has no role in any project",
		}
	}
	if err := s.count(p.ID, 1); err != nil {
		s.hold(r.Context())
		return mcp.Principal{}, err
	}
	return mcp.Principal{ID: p.ID, Value: p, Revoked: p.Revoked}, nil
}

// batch counts what authenticate has not: the other messages of a batch. Otherwise
// the one revision that has them would have a hundred times the rate of the others.
func (s *Server) batch(p mcp.Principal, messages int) error {
	return s.count(p.ID, messages-1)
}

// count counts messages of a principal, or says when it may send them.
func (s *Server) count(principal string, messages int) error {
	if messages < 1 {
		return nil
	}
	if after, ok := s.limiter.AllowN(principal, auth.Calls, messages); !ok {
		return &streamable.AuthError{Status: http.StatusTooManyRequests, RetryAfter: after, Text: "too many requests"}
	}
	return nil
}

const (
	// heldFor is how long a refusal for calling too often is held back, and mostHeld
	// how many are at a time.
	heldFor  = 100 * time.Millisecond
	mostHeld = 1024
)

// hold keeps a refusal back for a moment: who floods and does not heed Retry-After
// waits on its own connections then, and does not spend the time of others.
func (s *Server) hold(ctx context.Context) {
	if s.held.Add(1) <= mostHeld {
		t := time.NewTimer(heldFor)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	s.held.Add(-1)
}

func (s *Server) principal(r *http.Request) (*auth.Principal, error) {
	if s.spare != nil {
		if p := s.spare.principal(r); p != nil {
			return p, nil
		}
	}
	return s.keys.Request(r)
}

// callerOf is a principal as the tools know it.
func callerOf(ctx context.Context, mp mcp.Principal, projects *projectList) (*access.Caller, error) {
	p, ok := mp.Value.(*auth.Principal)
	if !ok {
		return &access.Caller{}, nil
	}
	c := &access.Caller{
		Actor: board.Actor{Principal: p.ID, Owner: p.ID, Name: cmp.Or(p.Name, p.Owner), Person: p.Person},
		Roles: p.Grants, Role: p.Best(),
	}
	if every := p.Grants[auth.EveryProject]; every > auth.None {
		slugs, err := projects.slugs(ctx)
		if err != nil {
			return c, err
		}
		c.Roles = make(map[string]auth.Role, len(slugs))
		for _, slug := range slugs {
			c.Roles[slug] = p.Role(slug)
		}
	}
	return c, nil
}
