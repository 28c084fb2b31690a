package postgres

import (
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

const busChannel = "bossman_bus"

// A Bus carries events to the subscribers in all replicas that share the database. It
// sends them to other replicas with the relay. Events may be lost while this process is
// not connected to the database; after each connect, subscribers get an event for every
// list.
type Bus struct {
	relay *Relay

	mu          sync.Mutex
	subscribers map[*func(kind, name string)]bool
	queue       []mcp.Event // to be delivered in this process
	queued      map[mcp.Event]bool
	lost        uint64
	draining    bool           // a goroutine delivers the queue
	drained     sync.WaitGroup // that goroutine
}

var _ replica.Bus = (*Bus)(nil)

// Bus returns the bus of all replicas. It reaches other replicas while Run or Watch runs.
func (s *Store) Bus() *Bus { return s.bus }

// Publish queues an event and does not block. If the queue is full, the oldest events are
// lost.
func (b *Bus) Publish(kind, name string) {
	e := mcp.Event{Kind: mcp.EventKind(kind), Name: name}
	b.relay.postEvent(e)
	b.deliver(e)
}

// Subscribe calls f for each event until stop is called. A call may still be in flight
// then.
func (b *Bus) Subscribe(f func(kind, name string)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscribers[&f] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subscribers, &f)
	}
}

// Lost returns how many events were lost because subscribers of this process were too
// slow.
func (b *Bus) Lost() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

func newBus(r *Relay) *Bus {
	b := &Bus{relay: r, subscribers: map[*func(kind, name string)]bool{}, queued: map[mcp.Event]bool{}}
	r.handle(busChannel, false, func(body []byte) {
		kind, name, _ := strings.Cut(string(body), " ")
		b.deliver(mcp.Event{Kind: mcp.EventKind(kind), Name: name})
	})
	r.store.listener.connects(func() {
		for _, kind := range []mcp.EventKind{mcp.EventTools, mcp.EventPrompts, mcp.EventResources} {
			b.deliver(mcp.Event{Kind: kind})
		}
	})
	return b
}

// deliver queues an event for the subscribers of this process, unless it is queued
// already. A slow subscriber delays other subscribers, but neither publishers nor the
// listener.
func (b *Bus) deliver(e mcp.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queued[e] {
		return
	}
	b.queued[e] = true
	b.queue = append(b.queue, e)
	if len(b.queue) > maxQueued {
		b.nextLocked()
		b.lost++
	}
	if !b.draining {
		b.draining = true
		b.drained.Go(b.drain)
	}
}

// nextLocked removes and returns the first event of the queue.
func (b *Bus) nextLocked() mcp.Event {
	e := b.queue[0]
	delete(b.queued, e) // it can be queued again from now on
	b.queue[0] = mcp.Event{}
	b.queue = b.queue[1:]
	return e
}

// drain calls the subscribers until the queue is empty.
func (b *Bus) drain() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.draining, b.queue = false, nil
			b.mu.Unlock()
			return
		}
		e := b.nextLocked()
		subscribers := make([]*func(kind, name string), 0, len(b.subscribers))
		for f := range b.subscribers {
			subscribers = append(subscribers, f)
		}
		b.mu.Unlock()
		for _, f := range subscribers {
			(*f)(string(e.Kind), e.Name)
		}
	}
}
