package streamable

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// The stateless era: a POST is a request and its response, and closing the
// connection cancels the request.

// stateless serves a request that identifies its sender itself.
func (h *Handler) stateless(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	if !h.prepare(w, r, rq) {
		return
	}
	x := h.newExchange(w, r, rq.Principal.Owner, rq.Revision, nil)
	result, err := h.handle(r, rq, x)
	h.respond(x, rq, result, err)
}

// handle handles a request that ends with its connection.
func (h *Handler) handle(r *http.Request, rq *mcp.Request, x *exchange) (json.RawMessage, error) {
	ctx := r.Context()
	if rq.Principal.Revoked != nil {
		var done func()
		ctx, done = h.revocableContext(ctx, rq.Principal.Revoked, x)
		defer done()
	}
	return h.server.Handle(ctx, rq, x)
}

func (h *Handler) prepare(w http.ResponseWriter, r *http.Request, rq *mcp.Request) bool {
	err := h.server.Prepare(rq)
	if err != nil {
		h.writeError(w, http.StatusBadRequest, rq.ID, mcp.LatestRevision, asError(err))
	}
	return err == nil
}

// listen serves subscriptions/listen, which ends when the handler is closed.
// There may be thousands of them, so the memory of each matters, including the
// stack.
func (h *Handler) listen(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	if !h.prepare(w, r, rq) {
		return
	}
	if status := h.checkStream(rq.Principal.Owner); status != 0 {
		h.busy(w, status, rq.ID, h.streamRefusal(status))
		return
	}
	h.inFlight.release(rq.Principal.Owner, 1) // it counts as a stream
	closed := h.server.Connected()
	ctx, end := h.untilClosing(r.Context(), rq.Principal.Revoked)
	defer func() {
		end(nil)
		closed(nil)
		h.inFlight.reacquire(rq.Principal.Owner, 1)
	}()
	x := h.newExchange(w, r, rq.Principal.Owner, rq.Revision, nil)
	result, err := h.server.Handle(ctx, rq, x)
	h.respond(x, rq, result, err)
}

// checkStream returns zero if a stream can be opened, or the status to refuse
// with.
func (h *Handler) checkStream(owner string) int {
	if h.closing.Err() != nil {
		return http.StatusServiceUnavailable
	}
	status := h.streams.acquire(owner, 1)
	if status == 0 {
		h.streams.release(owner, 1) // it is acquired when the stream starts
	}
	return status
}

// streamRefusal explains a status of checkStream.
func (h *Handler) streamRefusal(status int) string {
	if h.closing.Err() != nil {
		return endingText
	}
	return h.streams.refusal(status)
}

// respond writes the response to a request.
func (h *Handler) respond(x *exchange, rq *mcp.Request, result json.RawMessage, err error) {
	m := response(rq.ID, result, err)
	status := http.StatusOK
	if m.Error != nil {
		status = statusOf(m.Error.Code)
	}
	x.finish(status, jsonrpc.One(&m))
	if result != nil {
		h.server.Release(result)
	}
}

// settleAlone prepares a request without a session, if it may do without one.
func (h *Handler) settleAlone(rq *mcp.Request, version mcp.Revision) bool {
	if h.server.PrepareNoHandshake(rq) {
		return true
	}
	if h.o.Sessionless {
		h.server.PrepareSessionless(rq, cmp.Or(version, mcp.R20250326))
	}
	return h.o.Sessionless
}

// serveAlone serves a request without a session.
func (h *Handler) serveAlone(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	x := h.newExchange(w, r, rq.Principal.Owner, rq.Revision, nil)
	result, err := h.handle(r, rq, x)
	m := response(rq.ID, result, err)
	x.finish(http.StatusOK, jsonrpc.One(&m))
}

// untilClosing returns a context that also ends when the handler is closed or
// the principal is revoked.
func (h *Handler) untilClosing(ctx context.Context, revoked <-chan struct{}) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.closing, func() { cancel(jsonrpc.ErrClosed) })
	if revoked == nil {
		return ctx, func(cause error) {
			stop()
			cancel(cause)
		}
	}
	done := h.revocations.add(revoked, func() { cancel(errRevoked) })
	return ctx, func(cause error) {
		done()
		stop()
		cancel(cause)
	}
}
