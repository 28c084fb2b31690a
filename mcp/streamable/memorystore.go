package streamable

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/mcp/replica"
)

// maxStates limits the sessions in a memory store. Beyond it a random one is
// deleted, so the principal with the most sessions loses the most, and nobody
// can fill the store for others.
const maxStates = 100_000

// memoryStore stores states until the process ends.
type memoryStore struct {
	mu    sync.RWMutex
	items map[string]storedState
	swept time.Time
}

type storedState struct {
	state *replica.SessionState
	until time.Time
}

var _ replica.SessionStore = (*memoryStore)(nil)

func newMemoryStore() *memoryStore { return &memoryStore{items: map[string]storedState{}} }

func (m *memoryStore) Load(_ context.Context, session string) (*replica.SessionState, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.items[session].state, nil
}

func (m *memoryStore) Update(_ context.Context, session string, until time.Time, change func(*replica.SessionState) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Sub(m.swept) > time.Minute {
		m.swept = now
		maps.DeleteFunc(m.items, func(_ string, k storedState) bool { return now.After(k.until) })
	}
	var next replica.SessionState
	old := m.items[session].state
	if old != nil {
		next = *old
		next.Subscribed = slices.Clone(old.Subscribed)
	}
	if err := change(&next); err != nil {
		return err
	}
	if old == nil && len(m.items) >= maxStates {
		for any := range m.items { // iteration order is random
			delete(m.items, any)
			break
		}
	}
	m.items[session] = storedState{&next, until}
	return nil
}
