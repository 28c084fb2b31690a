package replica

import "sync"

// A Bus delivers events to all listeners of all replicas that share it. Kinds
// are those of mcp.EventKind, and names are opaque. Publish must not block on
// listeners, and listeners must return quickly. Events may be duplicated or
// lost, so listeners re-read what they need.
type Bus interface {
	Publish(kind, name string)
	Subscribe(onEvent func(kind, name string)) (stop func())
}

type memoryBus struct {
	mu        sync.Mutex
	listeners map[*func(kind, name string)]bool
}

// NewBus returns a bus for the listeners of one process. It is the default of a
// server.
func NewBus() Bus { return &memoryBus{listeners: map[*func(kind, name string)]bool{}} }

func (b *memoryBus) Publish(kind, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for onEvent := range b.listeners {
		(*onEvent)(kind, name)
	}
}

func (b *memoryBus) Subscribe(onEvent func(kind, name string)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[&onEvent] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, &onEvent)
	}
}
