package streamable

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Relay carries messages between the replicas that serve the same clients. A
// message may be lost, come twice, late, or before one that was sent earlier. Most
// have a few hundred bytes; a client's answer may have as many as Options.Limits
// allow, and half of that more. Whoever can write to a Relay can act for its
// clients.
type Relay interface {
	// Send gives a message to one replica, or to all others if to is empty. It does
	// not wait for them.
	Send(ctx context.Context, to string, message []byte) error
	// Receive hears what is sent to a replica by name, or to all, until stop. Hear
	// is quick, keeps no message, and may be called by several goroutines.
	Receive(name string, hear func(message []byte)) (stop func())
}

const (
	replicaName = 10              // letters of a replica's name
	sendFor     = 2 * time.Second // what a Relay may take to send

	// What a session may have sent to other replicas: so many at once, and one more
	// after each pause.
	relayBurst = 64
	relayPause = 50 * time.Millisecond
)

// A note is what replicas tell each other. Sessions have the names that they have
// in the store: whose they are was seen to before.
type note struct {
	Kind    string `json:"kind"`
	From    string `json:"from"` // a replica
	Session string `json:"session,omitzero"`
	Stream  string `json:"stream,omitzero"`
	Ticket  string `json:"ticket,omitzero"` // of one return to a stream
	Number  uint64 `json:"number,omitzero"`
	Data    []byte `json:"data,omitzero"`
	Last    bool   `json:"last,omitzero"`
}

// The kinds of notes. Others are ignored.
const (
	noteAnswer  = "answer"  // Data is a client's answer to a question of yours
	noteCancel  = "cancel"  // Data is the id of a request that I do not know
	noteChanged = "changed" // what a session's client has set
	noteEnd     = "end"     // the client has ended its session
	noteFeed    = "feed"    // the session's events come from me now
	noteResume  = "resume"  // the client is back for Stream, behind event Number
	notePiece   = "piece"   // Data is the next of the stream; Number counts from 1
	noteMissing = "missing" // there is no such stream
	noteHeard   = "heard"   // all pieces until Number have come
	noteLeft    = "left"    // the client has gone again
)

// replicas is what a handler has to do with the others.
type replicas struct {
	name string
	deaf func() // ends the hearing

	mu       sync.Mutex
	over     bool                 // nothing begins any more
	work     sync.WaitGroup       // what notes have begun
	returns  map[string]chan note // of clients that are here, by ticket
	forwards map[string]*forward  // of streams that are here, by ticket
}

// join makes the handler one of the replicas.
func (h *Handler) join() {
	h.replicas.name = strings.ToLower(rand.Text()[:replicaName])
	h.replicas.deaf = func() {}
	if h.o.Relay == nil {
		return
	}
	h.replicas.returns = map[string]chan note{}
	h.replicas.forwards = map[string]*forward{}
	h.o.Store = &stateCache{store: h.o.Store, tell: func(session string, ended bool) {
		n := note{Kind: noteChanged, Session: session}
		if ended {
			n.Kind = noteEnd
		}
		h.tell("", n)
	}}
	h.replicas.deaf = sync.OnceFunc(h.o.Relay.Receive(h.replicas.name, h.hear))
}

// tell sends a note to a replica, or to all others. It may get lost.
func (h *Handler) tell(to string, n note) bool {
	if h.o.Relay == nil {
		return false
	}
	n.From = h.replicas.name
	b, err := jsonv2.Marshal(n)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), sendFor)
		defer cancel()
		err = h.o.Relay.Send(ctx, to, b)
	}
	if err != nil {
		h.log.Warn("relay to other replicas", "kind", n.Kind, "err", err)
	}
	return err == nil
}

// hear takes a note. It waits for nothing.
func (h *Handler) hear(message []byte) {
	var n note
	if jsonv2.Unmarshal(message, &n) != nil || n.From == h.replicas.name || h.base.Err() != nil {
		return
	}
	switch n.Kind {
	case noteAnswer:
		p, err := jsonrpc.Decode(n.Data, h.o.Limits)
		if l := h.liveOf(n.Session); l != nil && err == nil && p.Message != nil {
			h.answered(l, p.Message)
		}
	case noteCancel:
		if id, err := jsonrpc.ParseID(n.Data); err == nil {
			if l := h.liveOf(n.Session); l != nil {
				l.cancel(id)
			}
		}
	case noteChanged:
		h.o.Store.(*stateCache).forget(n.Session)
	case noteEnd:
		h.o.Store.(*stateCache).end(n.Session)
		if l := h.liveOf(n.Session); l != nil {
			h.replicas.begin(l.end) // streams may be waiting for their clients
		}
	case noteFeed:
		if l := h.liveOf(n.Session); l != nil {
			l.endFeed()
		}
	case noteResume:
		h.resumeFor(n)
	case notePiece, noteMissing:
		h.replicas.arrived(n)
	case noteHeard, noteLeft:
		h.replicas.heard(n)
	}
}

// begin does something that takes time.
func (r *replicas) begin(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.work.Go(f)
	}
}

// leave ends what the handler has to do with the others.
func (r *replicas) leave() {
	r.deaf()
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.work.Wait()
}

// liveOf is what is live of a session here, or nil.
func (h *Handler) liveOf(session string) *live {
	b, err := base64.RawURLEncoding.DecodeString(session)
	if err != nil || len(b) != len(sessionKey{}) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lives[sessionKey(b)]
}

// answer takes a client's answer to a question, which another replica may have
// asked.
func (h *Handler) answer(s session, m *jsonrpc.Message) {
	to, _, _ := strings.Cut(strings.Trim(m.ID.String(), `"`), callMark)
	if !h.elsewhere(to) {
		h.answered(s.live, m)
		return
	}
	if s.relayed.take() {
		h.tell(to, note{Kind: noteAnswer, Session: s.name, Data: jsonrpc.One(m).Append(nil)})
	}
}

func (h *Handler) answered(l *live, m *jsonrpc.Message) {
	if !l.answered(m) {
		h.server.Refused(errors.New("response to id " + m.ID.String() + ", which was not asked"))
	}
}

// cancel cancels a request, wherever it is.
func (h *Handler) cancel(s session, id jsonrpc.ID) {
	if !s.live.cancel(id) && h.o.Relay != nil && s.relayed.take() {
		h.tell("", note{Kind: noteCancel, Session: s.name, Data: []byte(id.String())})
	}
}

// Ids of questions and of streams are the name of the replica, a mark, and a
// number.
const (
	callMark = "." // belongs to a request
	feedMark = "~" // is the session's own
)

func (h *Handler) newName(mark string) string {
	return h.replicas.name + mark + strconv.FormatUint(h.number.Add(1), 36)
}

// elsewhere reports whether a name is another replica's.
func (h *Handler) elsewhere(name string) bool {
	if h.o.Relay == nil || len(name) != replicaName || name == h.replicas.name {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// A relayed is how much a session may still have sent to other replicas.
type relayed struct{ until atomic.Int64 } // nanoseconds: when it may again as much as ever

// take takes one. It reports false if there is none.
func (q *relayed) take() bool {
	for {
		old, now := q.until.Load(), time.Now().UnixNano()
		next := max(old, now) + int64(relayPause)
		if next-now > int64(relayBurst*relayPause) {
			return false
		}
		if q.until.CompareAndSwap(old, next) {
			return true
		}
	}
}
