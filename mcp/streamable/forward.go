package streamable

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// A client that resumes a stream may reach a replica that does not have it. The
// replica that has it forwards the stream in numbered pieces. A lost piece is
// not sent again: the stream to the client ends, and the client resumes it once
// more.
const (
	pieceSize      = 32 << 10
	pieceWindow    = 16               // limit of unacknowledged pieces
	pieceHeartbeat = 2 * time.Second  // how often each side shows that it is alive
	pieceTimeout   = 6 * time.Second  // how long each side waits for the other
	findTimeout    = 2 * time.Second  // the same, for the first piece
	forwardLinger  = 10 * time.Second // how long a late note about it is expected
)

var errReplicaSilent = errors.New("streamable: the other replica does not respond")

// A forward is a stream of this replica being sent to a client of another one.
// It is the http.ResponseWriter that the stream is written to.
type forward struct {
	h       *Handler
	replica string
	ticket  string
	ctx     context.Context
	cancel  context.CancelFunc
	wake    chan struct{} // capacity 1; signalled when an acknowledgement arrives

	mu        sync.Mutex
	sent      uint64
	acked     uint64
	lastHeard time.Time
}

var _ http.ResponseWriter = (*forward)(nil)

func (f *forward) Header() http.Header { return http.Header{} }
func (f *forward) WriteHeader(int)     {}
func (f *forward) FlushError() error   { return nil }

// Write sends pieces as fast as the other side acknowledges them.
func (f *forward) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), pieceSize)
		if err := f.waitForWindow(); err != nil {
			return len(b) - len(rest), err
		}
		if !f.sendPiece(rest[:n], false) {
			return len(b) - len(rest), errReplicaSilent
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// waitForWindow waits until another piece may be sent.
func (f *forward) waitForWindow() error {
	timeout := time.NewTimer(pieceTimeout)
	defer timeout.Stop()
	for {
		f.mu.Lock()
		ok := f.sent-f.acked < pieceWindow
		f.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-f.wake:
		case <-f.ctx.Done():
			return errClientGone
		case <-timeout.C:
			return errReplicaSilent
		}
	}
}

func (f *forward) sendPiece(b []byte, last bool) bool {
	f.mu.Lock()
	f.sent++
	n := note{Kind: notePiece, Ticket: f.ticket, Number: f.sent, Data: b, Last: last}
	f.mu.Unlock()
	return f.h.sendNote(f.replica, n)
}

// run forwards a stream until it ends or the client disconnects.
func (f *forward) run(st *stream, seen uint64) {
	defer f.sendPiece(nil, true)
	defer f.cancel()
	c := &conn{w: f, rc: http.NewResponseController(f), onClose: f.cancel}
	if c.write(comment) != nil || !st.attach(c, seen) {
		return
	}
	defer st.detach(c)
	beat := time.NewTicker(pieceHeartbeat)
	defer beat.Stop()
	quiet := time.NewTicker(commentInterval)
	defer quiet.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-quiet.C:
			_ = st.comment() // if it fails, ctx ends
		case <-beat.C:
			f.mu.Lock()
			silent := time.Since(f.lastHeard) > pieceTimeout
			full := f.sent-f.acked >= pieceWindow
			f.mu.Unlock()
			if silent || !full && !f.sendPiece(nil, false) {
				return
			}
		}
	}
}

// handOver sends the missed messages of a feed, and ends it.
func (f *forward) handOver(feed *feed, seen uint64) {
	defer f.sendPiece(nil, true)
	defer f.cancel()
	_, _ = f.Write(feed.handOver(seen))
}

// forwardStream starts forwarding a stream that another replica asks for.
func (h *Handler) forwardStream(n note) {
	var st *stream
	var fd *feed
	if a := h.activeByName(n.Session); a != nil {
		st, fd = a.stream(n.Stream), a.feedByID(n.Stream)
	}
	r := &h.replicas
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.forwards[n.Ticket] != nil || len(r.forwards) >= h.o.MaxStreams {
		return
	}
	if st == nil && fd == nil {
		r.work.Go(func() { h.sendNote(n.From, note{Kind: noteMissing, Ticket: n.Ticket}) })
		return
	}
	f := &forward{h: h, replica: n.From, ticket: n.Ticket, wake: make(chan struct{}, 1), lastHeard: time.Now()}
	f.ctx, f.cancel = context.WithCancel(h.baseCtx)
	r.forwards[n.Ticket] = f
	r.work.Go(func() {
		if st != nil {
			f.run(st, n.Number)
		} else {
			f.handOver(fd, n.Number)
		}
		// It stays registered for a while, so that a duplicate note does not
		// start it again.
		time.AfterFunc(forwardLinger, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.forwards, n.Ticket)
		})
	})
}

// handleAck handles an acknowledgement or the end of a forward.
func (r *replicas) handleAck(n note) {
	r.mu.Lock()
	f := r.forwards[n.Ticket]
	r.mu.Unlock()
	if f == nil || f.replica != n.From {
		return
	}
	if n.Kind == noteLeft {
		f.cancel()
		return
	}
	f.mu.Lock()
	f.acked, f.lastHeard = min(max(f.acked, n.Number), f.sent), time.Now()
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
