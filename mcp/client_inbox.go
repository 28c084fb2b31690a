package mcp

import (
	"iter"
	"slices"
	"sync"
)

// An inbox holds events until they are read. It holds each event once, and only
// those in the filter, so it is bounded whatever the server sends.
type inbox struct {
	filter *EventFilter
	ready  chan struct{}

	mu       sync.Mutex
	accepted EventFilter
	events   []Event
	closed   bool
}

func newInbox(f *EventFilter) *inbox {
	return &inbox{filter: f, accepted: *f, ready: make(chan struct{}, 1)}
}

func (in *inbox) setAccepted(f EventFilter) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.accepted = f
}

// putAll adds all events of the accepted filter.
func (in *inbox) putAll() {
	in.mu.Lock()
	f := in.accepted
	in.mu.Unlock()
	for kind, on := range map[EventKind]bool{EventTools: f.Tools, EventPrompts: f.Prompts, EventResources: f.Resources} {
		if on {
			in.put(Event{Kind: kind})
		}
	}
	for _, uri := range f.ResourceURIs {
		in.put(Event{EventResource, uri})
	}
	for _, id := range f.TaskIDs {
		in.put(Event{EventTask, id})
	}
}

func (in *inbox) put(e Event) {
	if !in.filter.wants(e) {
		return
	}
	in.mu.Lock()
	if !slices.Contains(in.events, e) && len(in.events) < maxSubscriptions {
		in.events = append(in.events, e)
	}
	in.mu.Unlock()
	in.wake()
}

func (in *inbox) wake() {
	select {
	case in.ready <- struct{}{}:
	default:
	}
}

func (in *inbox) close() {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.wake()
}

// all yields the events until the inbox is closed.
func (in *inbox) all() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for range in.ready {
			in.mu.Lock()
			events, closed := in.events, in.closed
			in.events = nil
			in.mu.Unlock()
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
			if closed {
				return
			}
		}
	}
}
