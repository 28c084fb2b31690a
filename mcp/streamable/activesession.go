package streamable

import (
	"maps"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// An activeSession is the in-memory state of a session while requests run.
type activeSession struct {
	h    *Handler
	key  sessionKey
	refs int // number of users; guarded by the handler's mu

	mu      sync.Mutex
	call    *call                                // one call in progress; usually there is no other
	calls   map[jsonrpc.ID]*call                 // the others
	waiting map[jsonrpc.ID]chan *jsonrpc.Message // server requests that wait for a response
	streams map[string]*stream
	feed    *feed
	ended   bool // the client ended the session: nothing may start
}

// acquire returns the active session. The caller must release it.
func (h *Handler) acquire(key sessionKey) *activeSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.active[key]
	if a == nil {
		a = &activeSession{h: h, key: key}
		h.active[key] = a
	}
	a.refs++
	return a
}

func (h *Handler) release(a *activeSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.refs--; a.refs == 0 {
		delete(h.active, a.key)
	}
}

// begin registers a call. It returns false if the id is in use. If the session
// has ended, the call is cancelled.
func (a *activeSession) begin(c *call) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.callLocked(c.id) != nil:
		return false
	case a.ended:
		c.cancel(jsonrpc.ErrClosed)
	case a.call == nil:
		a.call = c
	default:
		if a.calls == nil {
			a.calls = map[jsonrpc.ID]*call{}
		}
		a.calls[c.id] = c
	}
	return true
}

func (a *activeSession) done(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.call == c {
		a.call = nil
		return
	}
	delete(a.calls, c.id)
}

// callLocked returns a call in progress, or nil.
func (a *activeSession) callLocked(id jsonrpc.ID) *call {
	if a.call != nil && a.call.id == id {
		return a.call
	}
	return a.calls[id]
}

// cancel cancels a call. It returns false if there is none with this id.
func (a *activeSession) cancel(id jsonrpc.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.callLocked(id)
	if c != nil {
		c.cancel(jsonrpc.ErrCancelled)
	}
	return c != nil
}

// expectResponse returns an id for a request to the client, and the channel for
// its response. The id names this replica and was never used in the session, so
// a late response to another request is not mistaken for this one's.
func (a *activeSession) expectResponse() (jsonrpc.ID, <-chan *jsonrpc.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[jsonrpc.ID]chan *jsonrpc.Message{}
	}
	id, answer := jsonrpc.StringID(a.h.newLocalID(callMark)), make(chan *jsonrpc.Message, 1)
	a.waiting[id] = answer
	return id, answer
}

func (a *activeSession) cancelExpected(id jsonrpc.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// deliver delivers a response. It returns false if it was not expected.
func (a *activeSession) deliver(m *jsonrpc.Message) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.waiting[m.ID]
	if answer == nil {
		return false
	}
	delete(a.waiting, m.ID)
	answer <- m // never blocks
	return true
}

// newStream starts a stream whose events are kept.
func (a *activeSession) newStream(out *conn) *stream {
	id := a.h.newLocalID(callMark)
	a.h.acquire(a.key)
	st := newStream(id, out, &a.h.keptBytes, sync.OnceFunc(func() {
		a.mu.Lock()
		delete(a.streams, id)
		a.mu.Unlock()
		a.h.release(a)
	}))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams == nil {
		a.streams = map[string]*stream{}
	}
	a.streams[id] = st
	return st
}

func (a *activeSession) stream(id string) *stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.streams[id]
}

func (a *activeSession) hasEnded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// close ends everything in progress in the session.
func (a *activeSession) close() {
	a.mu.Lock()
	a.ended = true
	if a.call != nil {
		a.call.cancel(jsonrpc.ErrClosed)
	}
	for _, c := range a.calls {
		c.cancel(jsonrpc.ErrClosed)
	}
	if a.feed != nil {
		a.feed.cancel()
	}
	streams := slices.Collect(maps.Values(a.streams))
	a.mu.Unlock()
	for _, st := range streams {
		st.abandon()
	}
}
