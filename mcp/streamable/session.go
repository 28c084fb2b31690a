package streamable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// The era with sessions: initialize gives the client an id, which it sends along
// from then on. A connection that breaks is not the end of a request.

// A session is the session that a request belongs to.
type session struct {
	*opened
	live *live
	now  *State // when the request came; nil if there is none
}

// find opens a session id. A session of somebody else's, one that has ended and
// one that never was are all the same: not found. What it finds is live until the
// caller leaves it.
func (h *Handler) find(ctx context.Context, id, who string) (session, error) {
	o, err := h.openID(id, who)
	if err != nil || time.Now().After(o.until) {
		return session{}, mcp.ErrNotFound
	}
	l := h.enter(o.key) // first, so that whoever ends the session now finds us
	now, err := o.store.Load(ctx, o.name)
	if err == nil && now != nil && now.Ended {
		err = mcp.ErrNotFound
	}
	if err != nil {
		h.leave(l)
		return session{}, err
	}
	return session{o, l, now}, nil
}

// goesOn reports whether the session has neither been ended nor run out.
func (s session) goesOn(ctx context.Context) bool {
	now, err := s.store.Load(ctx, s.name)
	return time.Now().Before(s.until) && (err != nil || now == nil || !now.Ended)
}

// level is the least serious message to send; zero if the client has not said.
func (s session) level() mcp.LogLevel {
	if s.now == nil {
		return 0
	}
	return s.now.Level
}

// open finds the session that a request belongs to, or answers it. The caller
// leaves what it has found.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, who string) (session, bool) {
	id := header(r, "Mcp-Session-Id")
	if id == "" {
		h.refuse(w, http.StatusBadRequest, "header Mcp-Session-Id is missing: begin with initialize")
		return session{}, false
	}
	s, err := h.find(r.Context(), id, who)
	switch {
	case errors.Is(err, mcp.ErrNotFound):
		h.refuse(w, http.StatusNotFound, "session not found")
		return session{}, false
	case err != nil:
		h.log.Error("load session", "err", err)
		h.busy(w, http.StatusServiceUnavailable)
		return session{}, false
	}
	if name := header(r, "Mcp-Protocol-Version"); name != "" {
		if _, known := mcp.ParseRevision(name); !known {
			h.leave(s.live)
			h.fail(w, http.StatusBadRequest, jsonrpc.ID{}, s.Revision(), mcp.UnsupportedVersion(name))
			return session{}, false
		}
	}
	return s, true
}

// initialize begins a session.
func (h *Handler) initialize(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	s, err := h.server.Begin(rq, nil)
	if err != nil {
		h.fail(w, http.StatusBadRequest, rq.ID, mcp.Newest, asError(err))
		return
	}
	x := h.newExchange(w, r, rq.Principal.ID, rq.Revision, nil)
	result, err := h.server.Handle(r.Context(), rq, x)
	if err == nil {
		var id string
		if id, err = h.newID(rq.Principal.ID, s); err == nil {
			w.Header().Set("Mcp-Session-Id", id)
		}
	}
	x.answer(http.StatusOK, jsonrpc.One(response(rq.ID, result, err)))
}

// inSession serves a request of a session.
func (h *Handler) inSession(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	s, ok := h.open(w, r, rq.Principal.ID)
	if !ok {
		return
	}
	defer h.leave(s.live)
	x := h.newExchange(w, r, rq.Principal.ID, s.Revision(), s.live)
	m, ok := h.call(r, s, rq, x)
	if !ok {
		x.answer(http.StatusAccepted, jsonrpc.Packet{})
		return
	}
	x.answer(http.StatusOK, jsonrpc.One(&m))
	if m.Result != nil {
		mcp.Reuse(m.Result)
	}
}

// call handles one request of a session. It reports false if there is no answer,
// because the request was cancelled.
func (h *Handler) call(r *http.Request, s session, rq *mcp.Request, x *exchange) (jsonrpc.Message, bool) {
	if rq.Method == "initialize" {
		return jsonrpc.Message{ID: rq.ID, Error: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "initialize comes once, and not in a batch")}, true
	}
	c := &call{id: rq.ID, detached: detached{h.base, r.Context()}}
	defer c.cancel(context.Canceled)
	if !s.live.begin(c) {
		return jsonrpc.Message{
			Error: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "id %s is still in flight", rq.ID),
			NoID:  s.Revision().ErrorWithoutID(),
		}, true
	}
	defer s.live.done(c)
	if rq.Principal.Revoked != nil {
		defer h.revocable.add(rq.Principal.Revoked, func() { x.revoke(c) })()
	}
	x.call = c
	s.Settle(rq, s.level())
	result, err := h.server.Handle(c, rq, x)
	if err != nil && errors.Is(context.Cause(c), jsonrpc.ErrCancelled) {
		return jsonrpc.Message{}, false
	}
	return *response(rq.ID, result, err), true
}

// batch serves several messages that came in one array, one after the other.
func (h *Handler) batch(w http.ResponseWriter, r *http.Request, p *mcp.Principal, batch []jsonrpc.Element) {
	version, _ := versionOf(r)
	if version.Stateless() {
		h.fail(w, http.StatusBadRequest, jsonrpc.ID{}, version, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "batches are not supported"))
		return
	}
	s, ok := h.open(w, r, p.ID)
	if !ok {
		return
	}
	defer h.leave(s.live)
	if !s.Revision().Batches() {
		h.fail(w, http.StatusBadRequest, jsonrpc.ID{}, s.Revision(), jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "batches are not supported"))
		return
	}
	if h.o.Batch != nil {
		if err := h.o.Batch(*p, len(batch)); err != nil {
			h.unwelcome(w, err)
			return
		}
	}
	x := h.newExchange(w, r, p.ID, s.Revision(), s.live)
	var answers []jsonrpc.Element
	seen := map[jsonrpc.ID]bool{}
	for _, e := range batch {
		if a := h.element(r, s, p, x, e, seen); a != nil {
			answers = append(answers, jsonrpc.Element{Message: a})
		}
	}
	x.answer(http.StatusOK, jsonrpc.Packet{Batch: answers})
}

// element serves one message of a batch.
func (h *Handler) element(r *http.Request, s session, p *mcp.Principal, x *exchange, e jsonrpc.Element, seen map[jsonrpc.ID]bool) *jsonrpc.Message {
	m := e.Message
	switch {
	case e.Malformed != nil && e.Malformed.Silent:
		return nil
	case e.Malformed != nil:
		return &jsonrpc.Message{ID: e.Malformed.ID, Error: e.Malformed.Err}
	case !m.IsRequest():
		h.heard(s, m)
		return nil
	case seen[m.ID]:
		return &jsonrpc.Message{Error: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "id %s is still in flight", m.ID)}
	}
	seen[m.ID] = true
	rq := mcp.NewRequest(m, *p)
	switch {
	case rq.Stateless():
		return &jsonrpc.Message{ID: m.ID, Error: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a request with a protocol version in _meta cannot be part of a batch")}
	case len(m.Params) > 0 && m.Params[0] != '{':
		return &jsonrpc.Message{ID: m.ID, Error: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params must be an object")}
	}
	answer, ok := h.call(r, s, rq, x)
	if !ok {
		return nil
	}
	return &answer
}

// heard takes what wants no answer.
func (h *Handler) heard(s session, m *jsonrpc.Message) {
	switch {
	case m.IsResponse():
		h.answer(s, m)
	case m.Method == "notifications/cancelled":
		for name, v := range jsonrpc.Members(m.Params) {
			if id, err := jsonrpc.ParseID(v); name == "requestId" && err == nil {
				h.cancel(s, id)
			}
		}
	}
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request, who string) {
	s, ok := h.open(w, r, who)
	if !ok {
		return
	}
	defer h.leave(s.live)
	err := s.store.Update(r.Context(), s.name, s.until, func(st *State) error {
		*st = State{Ended: true}
		return nil
	})
	if err != nil {
		h.log.Error("end session", "err", err)
		h.busy(w, http.StatusServiceUnavailable)
		return
	}
	s.live.end()
	w.WriteHeader(http.StatusNoContent)
}

// get opens a stream: the rest of one that broke, or that of the events that
// belong to no request. Of these a session has one at a time, wherever it was opened
// last.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, p *mcp.Principal) {
	if !accepts(r.Header["Accept"], "text/event-stream") {
		h.refuse(w, http.StatusNotAcceptable, "the client must accept text/event-stream")
		return
	}
	s, ok := h.open(w, r, p.ID)
	if !ok {
		return
	}
	defer h.leave(s.live)
	if h.closing.Err() != nil {
		h.busy(w, http.StatusServiceUnavailable)
		return
	}
	if status := h.streams.take(p.ID); status != 0 {
		h.busy(w, status)
		return
	}
	defer h.streams.give(p.ID)
	defer h.server.Opened()(nil)
	l := s.live
	ctx, end := h.untilClosing(r.Context(), p.Revoked)
	defer end(nil)
	name, seen, ok := parseEventID(header(r, "Last-Event-Id"))
	if !ok || !s.Revision().Resumable() {
		name = ""
	}
	if st := l.stream(name); st != nil {
		resume(ctx, w, st, seen)
		return
	}
	replica, mark := parseStreamID(name)
	away := h.elsewhere(replica)
	switch {
	case away && !s.relayed.take():
		h.busy(w, http.StatusTooManyRequests)
		return
	case mark == callMark && away:
		h.resumeElsewhere(ctx, w, s, replica, name, seen)
		return
	case mark == callMark:
		h.noStream(w)
		return
	}
	f, ok := l.takeFeed(h.server, s, name)
	if !ok {
		h.refuse(w, http.StatusConflict, "the session has a stream already")
		return
	}
	defer l.leaveFeed(f)
	if name != f.stream.id {
		from := f.stream.last()
		if away {
			h.takeOver(ctx, s, f, replica, name, seen)
		}
		seen = from
	}
	if h.o.Relay != nil {
		h.tell("", note{Kind: noteFeed, Session: s.name})
	}
	f.run(ctx, newConn(w), s, seen)
}

// resume sends the rest of a stream.
func resume(ctx context.Context, w http.ResponseWriter, st *stream, seen uint64) {
	c := newConn(w)
	ctx, c.gone = context.WithCancel(ctx)
	defer c.gone()
	if c.write(comment) != nil || !st.attach(c, seen) {
		return
	}
	defer st.detach(c)
	tick := time.NewTicker(quietFor)
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
