package streamable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// The era with sessions: initialize gives the client an id, which it sends with
// each later request. A request continues when its connection breaks.

// A session is the session that a request belongs to.
type session struct {
	*sessionInfo
	active *activeSession
	state  *replica.SessionState // at the time of the request; may be nil
}

// findSession opens a session id. A session of another principal, one that has
// ended and one that never existed are all not found. The caller must release
// the active session.
func (h *Handler) findSession(ctx context.Context, id, principal string) (session, error) {
	o, err := h.openID(id, principal)
	if err != nil || time.Now().After(o.until) {
		return session{}, mcp.ErrNotFound
	}
	l := h.acquire(o.key) // first, so that ending the session now finds it
	now, err := o.store.Load(ctx, o.name)
	if err == nil && now != nil && now.Ended {
		err = mcp.ErrNotFound
	}
	if err != nil {
		h.release(l)
		return session{}, err
	}
	return session{o, l, now}, nil
}

// isOpen reports whether the session has neither ended nor expired.
func (s session) isOpen(ctx context.Context) bool {
	now, err := s.store.Load(ctx, s.name)
	return time.Now().Before(s.until) && (err != nil || now == nil || !now.Ended)
}

// level returns the minimum level of log messages, or "" if the client has
// not set it.
func (s session) level() string {
	if s.state == nil {
		return ""
	}
	return s.state.LogLevel
}

// openSession finds the session of a request, or writes an error for the message
// with the id, if it has one. The caller must release the active session.
func (h *Handler) openSession(w http.ResponseWriter, r *http.Request, principal string, id jsonrpc.ID) (session, bool) {
	name := header(r, "Mcp-Session-Id")
	if name == "" {
		h.refuseMessage(w, http.StatusBadRequest, id, "header Mcp-Session-Id is missing: send initialize first")
		return session{}, false
	}
	s, err := h.findSession(r.Context(), name, principal)
	switch {
	case errors.Is(err, mcp.ErrNotFound):
		h.refuseMessage(w, http.StatusNotFound, id, "session not found")
		return session{}, false
	case err != nil:
		h.log.Error("load session", "err", err)
		h.busy(w, http.StatusServiceUnavailable, id, storeText)
		return session{}, false
	}
	if name := header(r, "Mcp-Protocol-Version"); name != "" {
		if _, known := mcp.ParseRevision(name); !known {
			h.release(s.active)
			h.writeError(w, http.StatusBadRequest, id, s.Revision(), transport.UnsupportedVersion(name))
			return session{}, false
		}
	}
	return s, true
}

// initialize starts a session.
func (h *Handler) initialize(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	s, err := h.server.Initialize(rq, nil)
	if err != nil {
		h.writeError(w, http.StatusBadRequest, rq.ID, mcp.LatestRevision, asError(err))
		return
	}
	x := h.newExchange(w, r, rq.Principal.Owner, rq.Revision, nil)
	result, err := h.server.Handle(r.Context(), rq, x)
	if err == nil {
		var id string
		if id, err = h.newID(transport.Holder(rq.Principal), s); err == nil {
			w.Header().Set("Mcp-Session-Id", id)
		}
	}
	m := response(rq.ID, result, err)
	x.finish(http.StatusOK, jsonrpc.One(&m))
}

// inSession serves a request of a session.
func (h *Handler) inSession(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	if r.Header["Mcp-Session-Id"] == nil {
		if err := h.server.UnknownMethod(rq); err != nil {
			h.writeError(w, http.StatusBadRequest, rq.ID, mcp.LatestRevision, err)
			return
		}
	}
	s, ok := h.openSession(w, r, transport.Holder(rq.Principal), rq.ID)
	if !ok {
		return
	}
	defer h.release(s.active)
	x := h.newExchange(w, r, rq.Principal.Owner, s.Revision(), s.active)
	m, ok := h.handleCall(r, s, rq, x)
	if !ok {
		x.finish(http.StatusAccepted, jsonrpc.Packet{})
		return
	}
	x.finish(http.StatusOK, jsonrpc.One(&m))
	if m.Result != nil {
		h.server.Release(m.Result)
	}
}

// handleCall handles one request of a session. It returns false if the request
// was cancelled, so that there is no response.
func (h *Handler) handleCall(r *http.Request, s session, rq *mcp.Request, x *exchange) (jsonrpc.Message, bool) {
	if rq.Method == "initialize" {
		return jsonrpc.Message{ID: rq.ID, Error: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "initialize must be sent once, and not in a batch")}, true
	}
	c := &call{id: rq.ID, detached: detached{h.baseCtx, r.Context()}}
	defer c.cancel(context.Canceled)
	if !s.active.begin(c) {
		return jsonrpc.Message{
			Error: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "id %s is still in flight", rq.ID),
			NoID:  transport.RulesOf(s.Revision()).ErrorWithoutID,
		}, true
	}
	defer s.active.done(c)
	if rq.Principal.Revoked != nil {
		defer h.revocations.add(rq.Principal.Revoked, func() { x.revoke(c) })()
	}
	x.call = c
	s.Prepare(rq, s.level())
	result, err := h.server.Handle(c, rq, x)
	if err != nil && errors.Is(context.Cause(c), jsonrpc.ErrCancelled) {
		return jsonrpc.Message{}, false
	}
	return response(rq.ID, result, err), true
}

// handleOneWay handles a message without a response.
func (h *Handler) handleOneWay(s session, m *jsonrpc.Message) {
	switch {
	case m.IsResponse():
		h.routeResponse(s, m)
	case m.Method == "notifications/cancelled":
		for name, v := range rawjson.Members(m.Params) {
			if id, err := jsonrpc.ParseID(v); name == "requestId" && err == nil {
				h.cancelRequest(s, id)
			}
		}
	}
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request, principal string) {
	s, ok := h.openSession(w, r, principal, jsonrpc.ID{})
	if !ok {
		return
	}
	defer h.release(s.active)
	err := s.store.Update(r.Context(), s.name, s.until, func(st *replica.SessionState) error {
		*st = replica.SessionState{Ended: true}
		return nil
	})
	if err != nil {
		h.log.Error("end session", "err", err)
		h.busy(w, http.StatusServiceUnavailable, jsonrpc.ID{}, storeText)
		return
	}
	s.active.close()
	w.WriteHeader(http.StatusNoContent)
}
