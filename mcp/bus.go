package mcp

import "sync"

// A Bus delivers events to all listeners of all replicas that share it. Publish
// must not block on listeners, and listeners must return quickly. Events may be
// duplicated or lost, so listeners re-read what they need.
type Bus interface {
	Publish(e Event)
	Subscribe(onEvent func(Event)) (stop func())
}

type memoryBus struct {
	mu        sync.Mutex
	listeners map[*func(Event)]bool
}

// NewBus returns a bus for the listeners of one process. It is the default of a
// server.
func NewBus() Bus { return &memoryBus{listeners: map[*func(Event)]bool{}} }

func (b *memoryBus) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for onEvent := range b.listeners {
		(*onEvent)(e)
	}
}

func (b *memoryBus) Subscribe(onEvent func(Event)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[&onEvent] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, &onEvent)
	}
}

// changed publishes that a list has changed.
func (s *Server) changed(kind Kind) {
	switch kind {
	case KindTool:
		s.o.Bus.Publish(Event{Kind: EventTools})
	case KindPrompt:
		s.o.Bus.Publish(Event{Kind: EventPrompts})
	default:
		s.o.Bus.Publish(Event{Kind: EventResources})
	}
}

// ResourceUpdated notifies subscribers of a resource that it has changed.
func (s *Server) ResourceUpdated(uri string) {
	s.o.Bus.Publish(Event{Kind: EventResource, Name: uri})
}

// PartUpdated is ResourceUpdated for those who see the part that has changed, by
// ServerOptions.SeesPart: others would learn when something happens that is hidden
// from them. It is for resources in which not everybody sees the same.
func (s *Server) PartUpdated(uri, part string) {
	s.o.Bus.Publish(Event{Kind: EventPart, Name: uri + "#" + part})
}
