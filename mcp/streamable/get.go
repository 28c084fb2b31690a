package streamable

import (
	"context"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// get opens a stream: the rest of one that broke, or the stream of events that
// belong to no request. A session has one of the latter at a time, at the
// replica where it was opened last.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, p *mcp.Principal) {
	if !accepts(r.Header["Accept"], "text/event-stream") {
		h.refuse(w, http.StatusNotAcceptable, "the client must accept text/event-stream")
		return
	}
	s, ok := h.openSession(w, r, transport.Holder(*p), jsonrpc.ID{})
	if !ok {
		return
	}
	defer h.release(s.active)
	if h.closing.Err() != nil {
		h.busy(w, http.StatusServiceUnavailable, jsonrpc.ID{}, endingText)
		return
	}
	if status := h.streams.acquire(p.Owner, 1); status != 0 {
		h.busy(w, status, jsonrpc.ID{}, h.streams.refusal(status))
		return
	}
	defer h.streams.release(p.Owner, 1)
	defer h.server.Connected()(nil)
	a := s.active
	ctx, end := h.untilClosing(r.Context(), p.Revoked)
	defer end(nil)
	name, seen, ok := parseEventID(header(r, "Last-Event-Id"))
	if !ok || !transport.RulesOf(s.Revision()).Resumable {
		name = ""
	}
	if st := a.stream(name); st != nil {
		resume(ctx, w, st, seen)
		return
	}
	replica, mark := parseStreamID(name)
	remote := h.isOtherReplica(replica)
	switch {
	case remote && !s.relayQuota.take():
		h.busy(w, http.StatusTooManyRequests, jsonrpc.ID{}, "busy: this session resumes streams too often; try again")
		return
	case mark == callMark && remote:
		h.resumeFromReplica(ctx, w, s, replica, name, seen)
		return
	case mark == callMark:
		h.streamNotFound(w)
		return
	}
	f, ok := a.joinFeed(h.server, s, *p, name)
	if !ok {
		h.refuse(w, http.StatusConflict, "the session already has a stream")
		return
	}
	defer a.leaveFeed(f)
	if name != f.stream.id {
		from := f.stream.last()
		if remote {
			h.takeOverFeed(ctx, s, f, replica, name, seen)
		}
		seen = from
	}
	if h.o.Relay != nil {
		h.sendNote("", note{Kind: noteFeed, Session: s.name})
	}
	f.run(ctx, newConn(w), s, seen)
}

// resume sends the rest of a stream.
func resume(ctx context.Context, w http.ResponseWriter, st *stream, seen uint64) {
	c := newConn(w)
	ctx, c.onClose = context.WithCancel(ctx)
	defer c.onClose()
	if c.write(comment) != nil || !st.attach(c, seen) {
		return
	}
	defer st.detach(c)
	tick := time.NewTicker(commentInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = st.comment() // if it fails, ctx ends
		case <-ctx.Done():
			return
		}
	}
}
