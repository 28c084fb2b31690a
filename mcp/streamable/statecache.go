package streamable

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/mcp/replica"
)

// stateTTL is how long a replica may use a state that another one has changed.
// Usually a note invalidates it at once.
const stateTTL = 2 * time.Second

// A stateCache is a Store that caches another one for a short time, and
// notifies other replicas of changes. Each session has one slot, and a newer
// entry replaces an older one.
type stateCache struct {
	store  replica.SessionStore
	notify func(session string, ended bool)
	slots  [4096]atomic.Pointer[cached]
}

type cached struct {
	session  string
	state    *replica.SessionState // nil if there is none
	loadedAt time.Time             // zero if it was invalidated
}

var _ replica.SessionStore = (*stateCache)(nil)

var cacheSeed = maphash.MakeSeed()

func (c *stateCache) slot(session string) *atomic.Pointer[cached] {
	return &c.slots[maphash.String(cacheSeed, session)%uint64(len(c.slots))]
}

func (c *stateCache) Load(ctx context.Context, session string) (*replica.SessionState, error) {
	slot, now := c.slot(session), time.Now()
	old := slot.Load()
	if old != nil && old.session == session && now.Sub(old.loadedAt) < stateTTL {
		return old.state, nil
	}
	state, err := c.store.Load(ctx, session)
	if err == nil {
		slot.CompareAndSwap(old, &cached{session, state, now}) // unless it was invalidated meanwhile
	}
	return state, err
}

func (c *stateCache) Update(ctx context.Context, session string, until time.Time, change func(*replica.SessionState) error) error {
	ended := false
	err := c.store.Update(ctx, session, until, func(st *replica.SessionState) error {
		err := change(st)
		ended = st.Ended
		return err
	})
	c.invalidate(session) // even after an error, when the outcome is unknown
	if err == nil {
		c.notify(session, ended)
	}
	return err
}

// invalidate drops a session's state.
func (c *stateCache) invalidate(session string) {
	c.slot(session).Store(&cached{session: session})
}

// markEnded caches that a session has ended.
func (c *stateCache) markEnded(session string) {
	c.slot(session).Store(&cached{session, &replica.SessionState{Ended: true}, time.Now()})
}
