package postgres

import (
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/mcp"
)

const busChannel = "bossman_bus"

// A Bus carries events to the listeners of all replicas that share the database, to
// others by the relay. Whenever the line to the database has come up, events may have
// been lost before: then listeners hear that every list has changed.
type Bus struct {
	relay *Relay

	mu        sync.Mutex
	listeners map[*func(mcp.Event)]bool
	waiting   []mcp.Event // to be told here
	pending   map[mcp.Event]bool
	lost      uint64
	telling   bool           // somebody tells what waits
	ended     sync.WaitGroup // of who tells
}

var _ mcp.Bus = (*Bus)(nil)

// Bus gives the bus of all replicas. It reaches the others while Run or Watch works.
func (s *Store) Bus() *Bus { return s.bus }

// Publish waits for nobody, neither the database nor a listener. If more is published
// than can be told, the oldest events are lost.
func (b *Bus) Publish(e mcp.Event) {
	b.relay.postEvent(e)
	b.tell(e)
}

// Subscribe hears events until stop. One may still be on its way then.
func (b *Bus) Subscribe(hear func(mcp.Event)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[&hear] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, &hear)
	}
}

// Lost counts the events that listeners here were too slow for.
func (b *Bus) Lost() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

func newBus(r *Relay) *Bus {
	b := &Bus{relay: r, listeners: map[*func(mcp.Event)]bool{}, pending: map[mcp.Event]bool{}}
	r.hear(busChannel, false, func(body []byte) {
		kind, name, _ := strings.Cut(string(body), " ")
		b.tell(mcp.Event{Kind: mcp.EventKind(kind), Name: name})
	})
	r.store.line.greet(func() {
		for _, kind := range []mcp.EventKind{mcp.EventTools, mcp.EventPrompts, mcp.EventResources} {
			b.tell(mcp.Event{Kind: kind})
		}
	})
	return b
}

// tell has an event told to the listeners of this process. They should be quick; the
// line and publishers do not wait for those that are not.
func (b *Bus) tell(e mcp.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending[e] {
		return
	}
	b.pending[e] = true
	b.waiting = append(b.waiting, e)
	if len(b.waiting) > maxQueued {
		b.nextLocked()
		b.lost++
	}
	if !b.telling {
		b.telling = true
		b.ended.Go(b.drain)
	}
}

func (b *Bus) nextLocked() mcp.Event {
	e := b.waiting[0]
	delete(b.pending, e) // from here on it is new if it comes again
	b.waiting[0] = mcp.Event{}
	b.waiting = b.waiting[1:]
	return e
}

// drain tells what waits, until there is nothing.
func (b *Bus) drain() {
	for {
		b.mu.Lock()
		if len(b.waiting) == 0 {
			b.telling, b.waiting = false, nil
			b.mu.Unlock()
			return
		}
		e := b.nextLocked()
		hears := make([]*func(mcp.Event), 0, len(b.listeners))
		for hear := range b.listeners {
			hears = append(hears, hear)
		}
		b.mu.Unlock()
		for _, hear := range hears {
			(*hear)(e)
		}
	}
}
