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
	l := h.active[key]
	if l == nil {
		l = &activeSession{h: h, key: key}
		h.active[key] = l
	}
	l.refs++
	return l
}

func (h *Handler) release(l *activeSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.refs--; l.refs == 0 {
		delete(h.active, l.key)
	}
}

// begin registers a call. It returns false if the id is in use. If the session
// has ended, the call is cancelled.
func (l *activeSession) begin(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.callLocked(c.id) != nil:
		return false
	case l.ended:
		c.cancel(jsonrpc.ErrClosed)
	case l.call == nil:
		l.call = c
	default:
		if l.calls == nil {
			l.calls = map[jsonrpc.ID]*call{}
		}
		l.calls[c.id] = c
	}
	return true
}

func (l *activeSession) done(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call == c {
		l.call = nil
		return
	}
	delete(l.calls, c.id)
}

// callLocked returns a call in progress, or nil.
func (l *activeSession) callLocked(id jsonrpc.ID) *call {
	if l.call != nil && l.call.id == id {
		return l.call
	}
	return l.calls[id]
}

// cancel cancels a call. It returns false if there is none with this id.
func (l *activeSession) cancel(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.callLocked(id)
	if c != nil {
		c.cancel(jsonrpc.ErrCancelled)
	}
	return c != nil
}

// expectResponse returns an id for a request to the client, and the channel for
// its response. The id names this replica and was never used in the session, so
// a late response to another request is not mistaken for this one's.
func (l *activeSession) expectResponse() (jsonrpc.ID, <-chan *jsonrpc.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = map[jsonrpc.ID]chan *jsonrpc.Message{}
	}
	id, answer := jsonrpc.StringID(l.h.newLocalID(callMark)), make(chan *jsonrpc.Message, 1)
	l.waiting[id] = answer
	return id, answer
}

func (l *activeSession) cancelExpected(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, id)
}

// deliver delivers a response. It returns false if it was not expected.
func (l *activeSession) deliver(m *jsonrpc.Message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := l.waiting[m.ID]
	if answer == nil {
		return false
	}
	delete(l.waiting, m.ID)
	answer <- m // never blocks
	return true
}

// newStream starts a stream whose events are kept.
func (l *activeSession) newStream(out *conn) *stream {
	id := l.h.newLocalID(callMark)
	l.h.acquire(l.key)
	st := newStream(id, out, &l.h.keptBytes, sync.OnceFunc(func() {
		l.mu.Lock()
		delete(l.streams, id)
		l.mu.Unlock()
		l.h.release(l)
	}))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams == nil {
		l.streams = map[string]*stream{}
	}
	l.streams[id] = st
	return st
}

func (l *activeSession) stream(id string) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[id]
}

func (l *activeSession) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// close ends everything in progress in the session.
func (l *activeSession) close() {
	l.mu.Lock()
	l.ended = true
	if l.call != nil {
		l.call.cancel(jsonrpc.ErrClosed)
	}
	for _, c := range l.calls {
		c.cancel(jsonrpc.ErrClosed)
	}
	if l.feed != nil {
		l.feed.cancel()
	}
	streams := slices.Collect(maps.Values(l.streams))
	l.mu.Unlock()
	for _, st := range streams {
		st.abandon()
	}
}
