package streamable

import (
	"crypto/rand"
	"strings"
	"sync"
)

// replicas is the handler's state for its peers.
type replicas struct {
	name          string
	stopReceiving func() // stops receiving from the relay

	mu       sync.Mutex
	closed   bool                 // nothing may start
	work     sync.WaitGroup       // goroutines started by notes
	resumes  map[string]chan note // for clients connected here, by ticket
	forwards map[string]*forward  // of streams that are here, by ticket
}

// joinReplicas connects the handler to the relay.
func (h *Handler) joinReplicas() {
	h.replicas.name = strings.ToLower(rand.Text()[:replicaName])
	h.replicas.stopReceiving = func() {}
	if h.o.Relay == nil {
		return
	}
	h.replicas.resumes = map[string]chan note{}
	h.replicas.forwards = map[string]*forward{}
	h.o.Sessions = &stateCache{store: h.o.Sessions, notify: func(session string, ended bool) {
		n := note{Kind: noteChanged, Session: session}
		if ended {
			n.Kind = noteEnd
		}
		h.sendNote("", n)
	}}
	h.replicas.stopReceiving = sync.OnceFunc(h.o.Relay.Receive(h.replicas.name, h.handleNote))
}

// spawn runs f in a goroutine, unless the handler is closed.
func (r *replicas) spawn(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.work.Go(f)
	}
}

// close stops receiving and waits for the goroutines.
func (r *replicas) close() {
	r.stopReceiving()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.work.Wait()
}
