package streamable

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// A State is what a session's client has set since the handshake.
type State struct {
	Ended    bool         // the client has ended the session
	Level    mcp.LogLevel // zero if not set
	Watching []string     // URIs of the resources that the client is subscribed to
}

// A Store stores the states of sessions. A session whose client has set nothing
// has none. Replicas that serve the same clients share a Store.
type Store interface {
	// Load returns a session's state, or nil if there is none. It is called for
	// every request and must be fast; with a Relay, once in two seconds for a
	// session in use. The caller must not modify the result.
	Load(ctx context.Context, session string) (*State, error)
	// Update changes a session's state, creating it if necessary. It may be
	// deleted after until, when the session has expired. If change returns an
	// error, Update returns it and stores nothing.
	Update(ctx context.Context, session string, until time.Time, change func(*State) error) error
}
