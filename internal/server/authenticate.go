package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// newBearer returns what tells clients where to get tokens, nil if nobody issues any.
func (s *Server) newBearer() *streamable.BearerAuth {
	if s.o.Issuer == "" {
		return nil
	}
	var scopes []string
	for r := auth.Viewer; r <= auth.Admin; r++ {
		scopes = append(scopes, auth.Scope(r))
	}
	return streamable.Bearer(func(ctx context.Context, _ string) (mcp.Principal, error) {
		return s.authenticate(ctx.Value(requestKey{}).(*http.Request))
	}, streamable.Resource{URL: s.o.Audience, AuthorizationServers: []string{s.o.Issuer}, Scopes: scopes, Name: "Bossman"})
}

// requestKey is the context key of the request whose token is verified: what is counted
// depends on its address, too.
type requestKey struct{}

// identify identifies the caller of a request, by a token or a key.
func (s *Server) identify(r *http.Request) (mcp.Principal, error) {
	if s.bearer == nil || r.Header["Authorization"] == nil {
		return s.authenticate(r)
	}
	return s.bearer.Authenticate(r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
}

// authenticate identifies the caller of a request.
func (s *Server) authenticate(r *http.Request) (mcp.Principal, error) {
	p, err := s.principal(r)
	if err != nil {
		status, after := auth.Status(err)
		e := &streamable.AuthError{Status: status, Challenge: s.keys.Challenge(err), RetryAfter: time.Duration(after) * time.Second}
		switch status {
		case http.StatusUnauthorized:
			e.Text = "this takes a good key, in X-Api-Token or as Authorization: Bearer"
		case http.StatusServiceUnavailable:
			e.Text = unavailable(err)
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

// unavailable says why it is not known who the caller is.
func unavailable(err error) string {
	if errors.Is(err, board.ErrUnavailable) {
		return "the database is away"
	}
	return "the issuer of tokens cannot be reached"
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

// callerOf returns the caller that a principal is to the board.
func (l *projectList) callerOf(ctx context.Context, p *auth.Principal) (*access.Caller, error) {
	c := &access.Caller{
		Actor: board.Actor{Principal: p.ID, Owner: p.ID, Name: cmp.Or(p.Name, p.Owner), Person: p.Person, OneWorker: !p.Person, Ended: p.Revoked},
		Roles: p.Grants, Role: p.Best(),
	}
	if every := p.Grants[auth.EveryProject]; every > auth.None {
		slugs, err := l.slugs(ctx)
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

// clientOf is callerOf for a client of MCP.
func (l *projectList) clientOf(ctx context.Context, mp mcp.Principal) (*access.Caller, error) {
	p, ok := mp.Value.(*auth.Principal)
	if !ok {
		return &access.Caller{}, nil
	}
	return l.callerOf(ctx, p)
}
