package streamable

import (
	"context"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/mcp/replica"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// sessionState is the stored state of a session.
type sessionState struct {
	store replica.SessionStore
	name  string // of the session in the store
	until time.Time
}

var _ transport.SessionState = (*sessionState)(nil)

// ID identifies the session; see mcp.Request.SessionID.
func (s *sessionState) ID() string { return s.name }

func (s *sessionState) SetLogLevel(ctx context.Context, level string) error {
	return s.store.Update(ctx, s.name, s.until, func(st *replica.SessionState) error {
		st.LogLevel = level
		return nil
	})
}

// Watching reads the store each time, because an open stream outlives many
// changes.
func (s *sessionState) Subscribed(uri string) bool {
	st, err := s.store.Load(context.Background(), s.name)
	return err == nil && st != nil && slices.Contains(st.Subscribed, uri)
}

func (s *sessionState) Subscribe(ctx context.Context, uri string, on bool, limit int) error {
	return s.store.Update(ctx, s.name, s.until, func(st *replica.SessionState) error {
		i := slices.Index(st.Subscribed, uri)
		switch {
		case on && i < 0 && len(st.Subscribed) >= limit:
			return transport.ErrTooManySubscriptions
		case on && i < 0:
			st.Subscribed = append(st.Subscribed, uri)
		case !on && i >= 0:
			st.Subscribed = slices.Delete(st.Subscribed, i, i+1)
		}
		return nil
	})
}
