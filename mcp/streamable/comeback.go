package streamable

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"time"
)

// A comeback is a client's return to a stream that another replica has.
type comeback struct {
	h      *Handler
	to     string // the replica
	ticket string
	notes  chan note

	next  uint64          // the number of the piece that comes next
	early map[uint64]note // pieces that have come before it
}

// comeBack asks another replica for the rest of a stream, behind the event that the
// client has seen.
func (h *Handler) comeBack(s session, to, stream string, seen uint64) *comeback {
	b := &comeback{h: h, to: to, ticket: rand.Text(), notes: make(chan note, 2*pieceWindow), next: 1, early: map[uint64]note{}}
	h.replicas.mu.Lock()
	h.replicas.returns[b.ticket] = b.notes
	h.replicas.mu.Unlock()
	h.tell(to, note{Kind: noteResume, Session: s.name, Stream: stream, Number: seen, Ticket: b.ticket})
	return b
}

// leave ends it.
func (b *comeback) leave(last bool) {
	b.h.replicas.mu.Lock()
	delete(b.h.replicas.returns, b.ticket)
	b.h.replicas.mu.Unlock()
	if !last {
		b.h.tell(b.to, note{Kind: noteLeft, Ticket: b.ticket})
	}
}

// arrived gives a note to whoever waits for it. What there is no room for is lost.
func (r *replicas) arrived(n note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.Data = bytes.Clone(n.Data)
	select {
	case r.returns[n.Ticket] <- n:
	default:
	}
}

// piece waits for the next piece. It reports false if there is none in time.
func (b *comeback) piece(ctx context.Context, patience time.Duration) (note, bool) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		if n, ok := b.early[b.next]; ok {
			delete(b.early, b.next)
			b.next++
			return n, true
		}
		select {
		case n := <-b.notes:
			switch {
			case n.From != b.to:
			case n.Kind == noteMissing && b.next == 1 && len(b.early) == 0:
				return note{}, false
			case n.Kind == notePiece && n.Number >= b.next && n.Number < b.next+2*pieceWindow:
				b.early[n.Number] = n
			}
		case <-ctx.Done():
			return note{}, false
		case <-late.C:
			return note{}, false
		}
	}
}

// resumeElsewhere sends a client the rest of a stream that another replica has. If
// that is gone, the client has to begin again.
func (h *Handler) resumeElsewhere(ctx context.Context, w http.ResponseWriter, s session, to, stream string, seen uint64) {
	b := h.comeBack(s, to, stream, seen)
	n, ok := b.piece(ctx, findPatience)
	defer func() { b.leave(ok && n.Last) }()
	if !ok {
		h.noStream(w)
		return
	}
	c := newConn(w)
	told, when := uint64(0), time.Now()
	for ok {
		if len(n.Data) > 0 && c.write(n.Data) != nil || n.Last {
			return
		}
		if had := b.next - 1; had-told >= pieceWindow/4 || time.Since(when) >= pieceBeat/2 {
			told, when = had, time.Now()
			h.tell(to, note{Kind: noteHeard, Ticket: b.ticket, Number: had})
		}
		n, ok = b.piece(ctx, piecePatience)
	}
}

// noStream tells a client that nobody has its stream any more. That is a 404, on
// which clients give up what they waited for.
func (h *Handler) noStream(w http.ResponseWriter) {
	h.refuse(w, http.StatusNotFound, "stream not found: send the request again")
}

// takeOver brings what another replica has for a session's own stream, which ends
// there.
func (h *Handler) takeOver(ctx context.Context, s session, f *feed, to, stream string, seen uint64) {
	ctx, cancel := context.WithTimeout(ctx, findPatience)
	defer cancel()
	b := h.comeBack(s, to, stream, seen)
	var all []byte
	n, ok := b.piece(ctx, findPatience)
	for ; ok; n, ok = b.piece(ctx, findPatience) {
		if all = append(all, n.Data...); n.Last || len(all) > 2*keepBytes {
			break
		}
		h.tell(to, note{Kind: noteHeard, Ticket: b.ticket, Number: b.next - 1})
	}
	b.leave(ok && n.Last)
	for message := range bytes.Lines(all) {
		if whole, ok := bytes.CutSuffix(message, []byte("\n")); ok {
			_ = f.stream.send(whole) // it is kept
		}
	}
}
