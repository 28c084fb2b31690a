package streamable

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// cacheFor is how long a replica may not know what another one has been told.
// Mostly it hears of it at once.
const cacheFor = 2 * time.Second

// A stateCache is a Store that asks another one only now and then, and tells the
// other replicas of changes. Each session has one place, and who comes last has it.
type stateCache struct {
	store  Store
	tell   func(session string, ended bool)
	places [4096]atomic.Pointer[cached]
}

type cached struct {
	session string
	state   *State    // nil: there is none
	asked   time.Time // when; zero: it has changed since
}

var _ Store = (*stateCache)(nil)

var cacheSeed = maphash.MakeSeed()

func (c *stateCache) place(session string) *atomic.Pointer[cached] {
	return &c.places[maphash.String(cacheSeed, session)%uint64(len(c.places))]
}

func (c *stateCache) Load(ctx context.Context, session string) (*State, error) {
	place, now := c.place(session), time.Now()
	old := place.Load()
	if old != nil && old.session == session && now.Sub(old.asked) < cacheFor {
		return old.state, nil
	}
	state, err := c.store.Load(ctx, session)
	if err == nil {
		place.CompareAndSwap(old, &cached{session, state, now}) // unless it has changed meanwhile
	}
	return state, err
}

func (c *stateCache) Update(ctx context.Context, session string, until time.Time, change func(*State) error) error {
	ended := false
	err := c.store.Update(ctx, session, until, func(st *State) error {
		err := change(st)
		ended = st.Ended
		return err
	})
	c.forget(session) // also after an error: who knows
	if err == nil {
		c.tell(session, ended)
	}
	return err
}

// forget: a session's state has changed.
func (c *stateCache) forget(session string) {
	c.place(session).Store(&cached{session: session})
}

// end: a session has ended.
func (c *stateCache) end(session string) {
	c.place(session).Store(&cached{session, &State{Ended: true}, time.Now()})
}
