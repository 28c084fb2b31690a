package streamable

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A client that comes back for a stream may reach another replica than the one that
// has it. That one forwards the stream, in pieces that are counted. What gets lost
// on the way is not sent again: the stream to the client ends, and the client comes
// back once more, behind the last event that it has seen.
const (
	pieceSize     = 32 << 10
	pieceWindow   = 16               // how many may be on the way
	pieceBeat     = 2 * time.Second  // how often both sides say that they are there
	piecePatience = 6 * time.Second  // how long either waits for the other
	findPatience  = 2 * time.Second  // the same, for the first piece
	forgetForward = 10 * time.Second // how long a note about it may come late
)

var errUnheard = errors.New("streamable: the other replica is not heard")

// A forward is a stream of this replica's on its way to a client of another's. It is
// the response that the stream is written to.
type forward struct {
	h      *Handler
	to     string
	ticket string
	ctx    context.Context
	end    context.CancelFunc
	moved  chan struct{} // has room for one: something was heard

	mu    sync.Mutex
	sent  uint64
	acked uint64
	heard time.Time
}

var _ http.ResponseWriter = (*forward)(nil)

func (f *forward) Header() http.Header { return http.Header{} }
func (f *forward) WriteHeader(int)     {}
func (f *forward) FlushError() error   { return nil }

// Write sends pieces as far as the other side keeps up.
func (f *forward) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), pieceSize)
		if err := f.room(); err != nil {
			return len(b) - len(rest), err
		}
		if !f.piece(rest[:n], false) {
			return len(b) - len(rest), errUnheard
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// room waits until another piece may be sent.
func (f *forward) room() error {
	late := time.NewTimer(piecePatience)
	defer late.Stop()
	for {
		f.mu.Lock()
		ok := f.sent-f.acked < pieceWindow
		f.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-f.moved:
		case <-f.ctx.Done():
			return errGone
		case <-late.C:
			return errUnheard
		}
	}
}

func (f *forward) piece(b []byte, last bool) bool {
	f.mu.Lock()
	f.sent++
	n := note{Kind: notePiece, Ticket: f.ticket, Number: f.sent, Data: b, Last: last}
	f.mu.Unlock()
	return f.h.tell(f.to, n)
}

// run forwards a stream until it ends, or the client goes.
func (f *forward) run(st *stream, seen uint64) {
	defer f.piece(nil, true)
	defer f.end()
	c := &conn{w: f, rc: http.NewResponseController(f), gone: f.end}
	if c.write(comment) != nil || !st.attach(c, seen) {
		return
	}
	defer st.detach(c)
	beat := time.NewTicker(pieceBeat)
	defer beat.Stop()
	quiet := time.NewTicker(quietFor)
	defer quiet.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-quiet.C:
			_ = st.comment() // if it fails, ctx ends
		case <-beat.C:
			f.mu.Lock()
			unheard := time.Since(f.heard) > piecePatience
			full := f.sent-f.acked >= pieceWindow
			f.mu.Unlock()
			if unheard || !full && !f.piece(nil, false) {
				return
			}
		}
	}
}

// handOver sends what a feed has for its client, and ends it.
func (f *forward) handOver(feed *feed, seen uint64) {
	defer f.piece(nil, true)
	defer f.end()
	_, _ = f.Write(feed.handOver(seen))
}

// resumeFor begins what another replica asks for: the rest of a stream.
func (h *Handler) resumeFor(n note) {
	var st *stream
	var fd *feed
	if l := h.liveOf(n.Session); l != nil {
		st, fd = l.stream(n.Stream), l.feedNamed(n.Stream)
	}
	r := &h.replicas
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.forwards[n.Ticket] != nil || len(r.forwards) >= h.o.MaxStreams {
		return
	}
	if st == nil && fd == nil {
		r.work.Go(func() { h.tell(n.From, note{Kind: noteMissing, Ticket: n.Ticket}) })
		return
	}
	f := &forward{h: h, to: n.From, ticket: n.Ticket, moved: make(chan struct{}, 1), heard: time.Now()}
	f.ctx, f.end = context.WithCancel(h.base)
	r.forwards[n.Ticket] = f
	r.work.Go(func() {
		if st != nil {
			f.run(st, n.Number)
		} else {
			f.handOver(fd, n.Number)
		}
		// For a while it stays, so that a note that comes twice does not begin it again.
		time.AfterFunc(forgetForward, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.forwards, n.Ticket)
		})
	})
}

// heard takes what the other side says about a forward.
func (r *replicas) heard(n note) {
	r.mu.Lock()
	f := r.forwards[n.Ticket]
	r.mu.Unlock()
	if f == nil || f.to != n.From {
		return
	}
	if n.Kind == noteLeft {
		f.end()
		return
	}
	f.mu.Lock()
	f.acked, f.heard = min(max(f.acked, n.Number), f.sent), time.Now()
	f.mu.Unlock()
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// parseStreamID takes a stream's id apart: whose it is, and what mark it has.
func parseStreamID(id string) (replica, mark string) {
	for _, mark := range []string{callMark, feedMark} {
		if replica, _, ok := strings.Cut(id, mark); ok {
			return replica, mark
		}
	}
	return "", ""
}
