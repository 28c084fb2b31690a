package replica

import (
	"context"
	"time"
)

// A SessionState is what a session's client has set since the handshake.
type SessionState struct {
	Ended      bool     // the client has ended the session
	LogLevel   string   // minimum level of log messages, such as "warning"; "" if not set
	Subscribed []string // URIs of the resources that the client is subscribed to
}

// A SessionStore stores the states of sessions. A session whose client has set nothing
// has none. Replicas that serve the same clients share a SessionStore.
type SessionStore interface {
	// Load returns a session's state, or nil if there is none. It is called for
	// every request and must be fast; with a Relay, once in two seconds for a
	// session in use. The caller must not modify the result.
	Load(ctx context.Context, session string) (*SessionState, error)
	// Update changes a session's state, creating it if necessary. It may be
	// deleted after until, when the session has expired. If change returns an
	// error, Update returns it and stores nothing.
	Update(ctx context.Context, session string, until time.Time, change func(*SessionState) error) error
}
