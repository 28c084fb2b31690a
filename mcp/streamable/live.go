package streamable

import (
	"maps"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A live is what this process holds of a session while something goes on in it.
type live struct {
	h    *Handler
	key  sessionKey
	uses int // guarded by the handler's mu

	mu      sync.Mutex
	call    *call                // one that is under way; mostly there is no other
	calls   map[jsonrpc.ID]*call // the others
	asked   map[jsonrpc.ID]chan *jsonrpc.Message
	streams map[string]*stream
	feed    *feed
	ended   bool // by the client: nothing may begin any more
}

// enter finds what is live of a session; every enter has its leave.
func (h *Handler) enter(key sessionKey) *live {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lives[key]
	if l == nil {
		l = &live{h: h, key: key}
		h.lives[key] = l
	}
	l.uses++
	return l
}

func (h *Handler) leave(l *live) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.uses--; l.uses == 0 {
		delete(h.lives, l.key)
	}
}

// begin notes a call. It reports false if one with this id is under way. In a
// session that has ended meanwhile, the call is cancelled.
func (l *live) begin(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.callingLocked(c.id) != nil:
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

func (l *live) done(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call == c {
		l.call = nil
		return
	}
	delete(l.calls, c.id)
}

// callingLocked finds a call that is under way; nil if there is none.
func (l *live) callingLocked(id jsonrpc.ID) *call {
	if l.call != nil && l.call.id == id {
		return l.call
	}
	return l.calls[id]
}

// cancel cancels a call. It reports false if there is none with this id.
func (l *live) cancel(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.callingLocked(id)
	if c != nil {
		c.cancel(jsonrpc.ErrCancelled)
	}
	return c != nil
}

// ask gives an id for a question of ours, and where its answer will come. The id
// names this replica, and is new to the session, whatever was asked when it was live
// before: a late answer to another question is not taken for one to this.
func (l *live) ask() (jsonrpc.ID, <-chan *jsonrpc.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		l.asked = map[jsonrpc.ID]chan *jsonrpc.Message{}
	}
	id, answer := jsonrpc.StringID(l.h.newName(callMark)), make(chan *jsonrpc.Message, 1)
	l.asked[id] = answer
	return id, answer
}

func (l *live) forget(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, id)
}

// answered delivers an answer. It reports false if nobody waits for it.
func (l *live) answered(m *jsonrpc.Message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := l.asked[m.ID]
	if answer == nil {
		return false
	}
	delete(l.asked, m.ID)
	answer <- m // has room for one
	return true
}

// newStream begins a stream whose events are kept.
func (l *live) newStream(out *conn) *stream {
	id := l.h.newName(callMark)
	l.h.enter(l.key)
	st := newStream(id, out, &l.h.kept, sync.OnceFunc(func() {
		l.mu.Lock()
		delete(l.streams, id)
		l.mu.Unlock()
		l.h.leave(l)
	}))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams == nil {
		l.streams = map[string]*stream{}
	}
	l.streams[id] = st
	return st
}

func (l *live) stream(id string) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[id]
}

func (l *live) isEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// end ends all that goes on in the session.
func (l *live) end() {
	l.mu.Lock()
	l.ended = true
	if l.call != nil {
		l.call.cancel(jsonrpc.ErrClosed)
	}
	for _, c := range l.calls {
		c.cancel(jsonrpc.ErrClosed)
	}
	if l.feed != nil {
		l.feed.end()
	}
	streams := slices.Collect(maps.Values(l.streams))
	l.mu.Unlock()
	for _, st := range streams {
		st.giveUp()
	}
}
