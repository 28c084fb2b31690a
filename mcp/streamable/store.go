package streamable

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// A State is what a session's client has set since the handshake.
type State struct {
	Ended    bool         // the client has ended the session
	Level    mcp.LogLevel // zero: it has not said
	Watching []string     // the resources whose changes it wants to hear of
}

// A Store keeps the states of sessions. Sessions whose clients have set nothing
// have none. Replicas that serve the same clients share a Store.
type Store interface {
	// Load finds a session's state, nil if there is none. It is asked on every
	// request and must be quick; with a Relay, once in two seconds for a session in
	// use. The caller does not change what it gets.
	Load(ctx context.Context, session string) (*State, error)
	// Update changes a session's state, or makes one. It may be forgotten after
	// until: the session has ended by then. An error of change is returned and
	// nothing is kept.
	Update(ctx context.Context, session string, until time.Time, change func(*State) error) error
}

// maxStates is how many sessions a store in memory keeps something of. When there
// are more, it forgets something of any of them: whoever has the most then loses
// the most, and nobody can fill the store for others.
const maxStates = 100_000

// memoryStore keeps states as long as the process lives.
type memoryStore struct {
	mu    sync.RWMutex
	items map[string]kept
	swept time.Time
}

type kept struct {
	state *State
	until time.Time
}

var _ Store = (*memoryStore)(nil)

func newMemoryStore() *memoryStore { return &memoryStore{items: map[string]kept{}} }

func (m *memoryStore) Load(_ context.Context, session string) (*State, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.items[session].state, nil
}

func (m *memoryStore) Update(_ context.Context, session string, until time.Time, change func(*State) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Sub(m.swept) > time.Minute {
		m.swept = now
		maps.DeleteFunc(m.items, func(_ string, k kept) bool { return now.After(k.until) })
	}
	var next State
	old := m.items[session].state
	if old != nil {
		next = *old
		next.Watching = slices.Clone(old.Watching)
	}
	if err := change(&next); err != nil {
		return err
	}
	if old == nil && len(m.items) >= maxStates {
		for any := range m.items { // the order is random
			delete(m.items, any)
			break
		}
	}
	m.items[session] = kept{&next, until}
	return nil
}

// sessionState is the state of a session, which is in the store.
type sessionState struct {
	store Store
	name  string // of the session in the store
	until time.Time
}

var _ mcp.SessionState = (*sessionState)(nil)

func (s *sessionState) SetLevel(ctx context.Context, l mcp.LogLevel) error {
	return s.store.Update(ctx, s.name, s.until, func(st *State) error {
		st.Level = l
		return nil
	})
}

// Watching looks into the store: an open stream outlives many changes.
func (s *sessionState) Watching(uri string) bool {
	st, err := s.store.Load(context.Background(), s.name)
	return err == nil && st != nil && slices.Contains(st.Watching, uri)
}

func (s *sessionState) Watch(ctx context.Context, uri string, on bool, most int) error {
	return s.store.Update(ctx, s.name, s.until, func(st *State) error {
		i := slices.Index(st.Watching, uri)
		switch {
		case on && i < 0 && len(st.Watching) >= most:
			return mcp.ErrTooMany
		case on && i < 0:
			st.Watching = append(st.Watching, uri)
		case !on && i >= 0:
			st.Watching = slices.Delete(st.Watching, i, i+1)
		}
		return nil
	})
}
