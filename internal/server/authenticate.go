package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// authenticate identifies the caller of a request.
func (s *Server) authenticate(r *http.Request) (mcp.Principal, error) {
	p, err := s.principal(r)
	if err != nil {
		status, after := auth.Status(err)
		e := &streamable.AuthError{Status: status, Challenge: s.keys.Challenge(err), RetryAfter: time.Duration(after) * time.Second}
		switch status {
		case http.StatusUnauthorized:
			e.Text = "this takes a good key, in X-Api-Token or as Authorization: Bearer"
		case http.StatusTooManyRequests:
			e.Text = "this takes a good key, and too many wrong ones came from this address or with its id; a good one is accepted at any time"
			s.delayRefusal(r.Context())
		}
		return mcp.Principal{}, e
	}
	if p.Best() == auth.None {
		return mcp.Principal{}, &streamable.AuthError{
			Status: http.StatusForbidden, Challenge: s.keys.StepUp(auth.Viewer), Text: fmt.Sprintf("this credential has no role in any project: no claim of the token of %.100q is in --oauth-grant of the server", p.Owner),
		}
	}
	if err := s.conns.authenticated(r, p.Owner); err != nil {
		return mcp.Principal{}, err
	}
	if err := s.count(p.Owner, 1); err != nil {
		s.delayRefusal(r.Context())
		return mcp.Principal{}, err
	}
	return mcp.Principal{ID: p.ID, Rights: p.Rights(), Owner: p.Owner, Value: p, Revoked: p.Revoked}, nil
}

// batch counts the messages of a batch that authenticate did not count. Otherwise the one
// revision that has batches would have a hundred times the rate of the others.
func (s *Server) batch(p mcp.Principal, messages int) error {
	return s.count(p.Owner, messages-1)
}

// count counts messages of an owner, all keys together; the error says when they may be sent.
func (s *Server) count(owner string, messages int) error {
	if messages < 1 {
		return nil
	}
	if after, ok := s.limiter.AllowN(owner, auth.Calls, messages); !ok {
		return &streamable.AuthError{Status: http.StatusTooManyRequests, RetryAfter: after, Text: "too many requests of one owner, all keys together"}
	}
	return nil
}

const (
	// refusalDelay is how long a refusal for calling too often is delayed, and maxDelayed
	// how many are delayed at a time.
	refusalDelay = 100 * time.Millisecond
	maxDelayed   = 1024
)

// delayRefusal waits before a refusal is sent: a client that ignores Retry-After then waits
// on its own connections and does not take the server's time from others.
func (s *Server) delayRefusal(ctx context.Context) {
	if s.delayed.Add(1) <= maxDelayed {
		t := time.NewTimer(refusalDelay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	s.delayed.Add(-1)
}

// dismiss takes back what was held with credentials that were revoked or lowered, or have
// expired. Whoever revoked or lowered them has done the same, but this replica may have
// granted more until it heard of it.
func (s *Server) dismiss(ctx context.Context, principals []string) {
	released, err := s.board.Dismiss(ctx, board.Actor{Principal: "bossman"}, "its key was revoked or lowered, or has expired", principals...)
	if err != nil {
		s.log.Warn("taking back the tasks of ended keys failed", "err", err)
	}
	for _, id := range released {
		s.log.Info("took back the task of an ended key", "task", id.String())
	}
}

func (s *Server) principal(r *http.Request) (*auth.Principal, error) {
	if s.spare != nil {
		if p := s.spare.principal(r); p != nil {
			return p, nil
		}
	}
	return s.keys.Request(r)
}

// callerOf is the caller that a principal is to the board.
func callerOf(ctx context.Context, mp mcp.Principal, projects *projectList) (*access.Caller, error) {
	p, ok := mp.Value.(*auth.Principal)
	if !ok {
		return &access.Caller{}, nil
	}
	c := &access.Caller{
		Actor: board.Actor{Principal: p.ID, Owner: p.ID, Name: cmp.Or(p.Name, p.Owner), Person: p.Person, OneWorker: !p.Person},
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
