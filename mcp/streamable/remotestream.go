package streamable

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"time"
)

// A remoteStream is a stream of another replica that a client of this one
// resumes.
type remoteStream struct {
	h       *Handler
	replica string // name of the replica
	ticket  string
	notes   chan note

	next  uint64          // number of the next piece
	early map[uint64]note // pieces that arrived out of order
}

// requestStream asks another replica for the rest of a stream, after the event
// seen.
func (h *Handler) requestStream(s session, to, stream string, seen uint64) *remoteStream {
	b := &remoteStream{h: h, replica: to, ticket: rand.Text(), notes: make(chan note, 2*pieceWindow), next: 1, early: map[uint64]note{}}
	h.replicas.mu.Lock()
	h.replicas.resumes[b.ticket] = b.notes
	h.replicas.mu.Unlock()
	h.sendNote(to, note{Kind: noteResume, Session: s.name, Stream: stream, Number: seen, Ticket: b.ticket})
	return b
}

// close unregisters the stream, and tells the other replica unless it has sent
// the last piece.
func (b *remoteStream) close(last bool) {
	b.h.replicas.mu.Lock()
	delete(b.h.replicas.resumes, b.ticket)
	b.h.replicas.mu.Unlock()
	if !last {
		b.h.sendNote(b.replica, note{Kind: noteLeft, Ticket: b.ticket})
	}
}

// deliver passes a note to the waiting remoteStream. It is lost if there is no
// room.
func (r *replicas) deliver(n note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.Data = bytes.Clone(n.Data)
	select {
	case r.resumes[n.Ticket] <- n:
	default:
	}
}

// nextPiece waits for the next piece. It returns false if there is none in
// time.
func (b *remoteStream) nextPiece(ctx context.Context, timeout time.Duration) (note, bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		if n, ok := b.early[b.next]; ok {
			delete(b.early, b.next)
			b.next++
			return n, true
		}
		select {
		case n := <-b.notes:
			switch {
			case n.From != b.replica:
			case n.Kind == noteMissing && b.next == 1 && len(b.early) == 0:
				return note{}, false
			case n.Kind == notePiece && n.Number >= b.next && n.Number < b.next+2*pieceWindow:
				b.early[n.Number] = n
			}
		case <-ctx.Done():
			return note{}, false
		case <-timer.C:
			return note{}, false
		}
	}
}

// resumeFromReplica sends a client the rest of a stream that another replica
// has. If that replica is gone, the client must start over.
func (h *Handler) resumeFromReplica(ctx context.Context, w http.ResponseWriter, s session, to, stream string, seen uint64) {
	b := h.requestStream(s, to, stream, seen)
	n, ok := b.nextPiece(ctx, findTimeout)
	defer func() { b.close(ok && n.Last) }()
	if !ok {
		h.streamNotFound(w)
		return
	}
	c := newConn(w)
	acked, ackedAt := uint64(0), time.Now()
	for ok {
		if len(n.Data) > 0 && c.write(n.Data) != nil || n.Last {
			return
		}
		if had := b.next - 1; had-acked >= pieceWindow/4 || time.Since(ackedAt) >= pieceHeartbeat/2 {
			acked, ackedAt = had, time.Now()
			h.sendNote(to, note{Kind: noteAck, Ticket: b.ticket, Number: had})
		}
		n, ok = b.nextPiece(ctx, pieceTimeout)
	}
}

// streamNotFound tells a client that its stream no longer exists. On a 404
// clients stop waiting.
func (h *Handler) streamNotFound(w http.ResponseWriter) {
	h.refuse(w, http.StatusNotFound, "stream not found: send the request again")
}

// takeOverFeed copies the missed messages of a feed at another replica, which
// ends there.
func (h *Handler) takeOverFeed(ctx context.Context, s session, f *feed, to, stream string, seen uint64) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	b := h.requestStream(s, to, stream, seen)
	var all []byte
	n, ok := b.nextPiece(ctx, findTimeout)
	for ; ok; n, ok = b.nextPiece(ctx, findTimeout) {
		if all = append(all, n.Data...); n.Last || len(all) > 2*maxKept {
			break
		}
		h.sendNote(to, note{Kind: noteAck, Ticket: b.ticket, Number: b.next - 1})
	}
	b.close(ok && n.Last)
	for message := range bytes.Lines(all) {
		if whole, ok := bytes.CutSuffix(message, []byte("\n")); ok {
			_ = f.stream.send(whole) // the stream keeps it
		}
	}
}
