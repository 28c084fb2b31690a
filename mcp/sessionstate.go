package mcp

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// memoryState is the state of a session that ends with its connection.
type memoryState struct {
	level    atomic.Uint32 // a logLevel
	mu       sync.Mutex
	watching map[string]bool
}

func (m *memoryState) SetLogLevel(_ context.Context, level string) error {
	l, _ := parseLogLevel(level)
	m.level.Store(uint32(l))
	return nil
}

func (m *memoryState) Subscribed(uri string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watching[uri]
}

func (m *memoryState) Subscribe(_ context.Context, uri string, on bool, limit int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !on:
		delete(m.watching, uri)
	case len(m.watching) >= limit && !m.watching[uri]:
		return link.ErrTooManySubscriptions
	default:
		put(&m.watching, uri, true)
	}
	return nil
}
