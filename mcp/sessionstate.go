package mcp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// A SessionState stores what a client sets after the handshake. Its methods may
// be called concurrently.
type SessionState interface {
	// SetLevel sets the minimum level of log messages sent to the client; see
	// Settle.
	SetLevel(ctx context.Context, l LogLevel) error
	// Watching reports whether the client is subscribed to a resource.
	Watching(uri string) bool
	// Watch subscribes or unsubscribes the client. It returns ErrTooMany if it
	// already has limit subscriptions.
	Watch(ctx context.Context, uri string, on bool, limit int) error
}

// ErrTooMany means that a client has reached the limit of subscriptions.
var ErrTooMany = errors.New("too many subscriptions")

// memoryState is the state of a session that ends with its connection.
type memoryState struct {
	level    atomic.Uint32 // a LogLevel
	mu       sync.Mutex
	watching map[string]bool
}

func (m *memoryState) SetLevel(_ context.Context, l LogLevel) error {
	m.level.Store(uint32(l))
	return nil
}

func (m *memoryState) Watching(uri string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watching[uri]
}

func (m *memoryState) Watch(_ context.Context, uri string, on bool, limit int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !on:
		delete(m.watching, uri)
	case len(m.watching) >= limit && !m.watching[uri]:
		return ErrTooMany
	default:
		put(&m.watching, uri, true)
	}
	return nil
}
