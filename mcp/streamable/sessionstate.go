package streamable

import (
	"context"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// sessionState is the stored state of a session.
type sessionState struct {
	store Store
	name  string // of the session in the store
	until time.Time
}

var _ mcp.SessionState = (*sessionState)(nil)

// ID identifies the session; see mcp.Request.SessionID.
func (s *sessionState) ID() string { return s.name }

func (s *sessionState) SetLevel(ctx context.Context, l mcp.LogLevel) error {
	return s.store.Update(ctx, s.name, s.until, func(st *State) error {
		st.Level = l
		return nil
	})
}

// Watching reads the store each time, because an open stream outlives many
// changes.
func (s *sessionState) Watching(uri string) bool {
	st, err := s.store.Load(context.Background(), s.name)
	return err == nil && st != nil && slices.Contains(st.Watching, uri)
}

func (s *sessionState) Watch(ctx context.Context, uri string, on bool, limit int) error {
	return s.store.Update(ctx, s.name, s.until, func(st *State) error {
		i := slices.Index(st.Watching, uri)
		switch {
		case on && i < 0 && len(st.Watching) >= limit:
			return mcp.ErrTooMany
		case on && i < 0:
			st.Watching = append(st.Watching, uri)
		case !on && i >= 0:
			st.Watching = slices.Delete(st.Watching, i, i+1)
		}
		return nil
	})
}
