package streamable

import "github.com/bossman-dev/bossman/mcp/replica"

// NewMemoryStore is what a handler has if it is given nothing.
func NewMemoryStore() replica.SessionStore { return newMemoryStore() }
