package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// The era without sessions: a POST is a request and its answer, and a client that
// goes away has taken its request back.

// stateless serves a request that says itself who asks.
func (h *Handler) stateless(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	if !h.settle(w, r, rq) {
		return
	}
	x := h.newExchange(w, r, rq.Principal.ID, rq.Revision, nil)
	result, err := h.handle(r, rq, x)
	finish(x, rq, result, err)
}

// handle handles a request that ends with its connection.
func (h *Handler) handle(r *http.Request, rq *mcp.Request, x *exchange) (json.RawMessage, error) {
	ctx := r.Context()
	if rq.Principal.Revoked != nil {
		var done func()
		ctx, done = h.unlessRevoked(ctx, rq.Principal.Revoked, x)
		defer done()
	}
	return h.server.Handle(ctx, rq, x)
}

func (h *Handler) settle(w http.ResponseWriter, r *http.Request, rq *mcp.Request) bool {
	err := h.server.Settle(rq, headers(r.Header))
	if err != nil {
		h.fail(w, http.StatusBadRequest, rq.ID, mcp.Newest, asError(err))
	}
	return err == nil
}

// listen serves the request that is answered when the handler is closed. There may
// be thousands of them, so that the memory of each counts, also on the stack.
func (h *Handler) listen(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	if !h.settle(w, r, rq) {
		return
	}
	if status := h.hasStream(rq.Principal.ID); status != 0 {
		h.busy(w, status)
		return
	}
	h.inFlight.give(rq.Principal.ID) // it is one of the streams
	closed := h.server.Opened()
	ctx, end := h.untilClosing(r.Context(), rq.Principal.Revoked)
	defer func() {
		end(nil)
		closed(nil)
		h.inFlight.retake(rq.Principal.ID)
	}()
	x := h.newExchange(w, r, rq.Principal.ID, rq.Revision, nil)
	result, err := h.server.Handle(ctx, rq, x)
	finish(x, rq, result, err)
}

// hasStream tells whether a stream can be opened: zero, or the status to refuse
// with.
func (h *Handler) hasStream(who string) int {
	if h.closing.Err() != nil {
		return http.StatusServiceUnavailable
	}
	status := h.streams.take(who)
	if status == 0 {
		h.streams.give(who) // it is taken when the stream begins
	}
	return status
}

// finish answers a request.
func finish(x *exchange, rq *mcp.Request, result json.RawMessage, err error) {
	m := response(rq.ID, result, err)
	status := http.StatusOK
	if m.Error != nil {
		status = statusOf(m.Error.Code)
	}
	x.answer(status, jsonrpc.One(m))
	if result != nil {
		mcp.Reuse(result)
	}
}

// alone serves a request that needs neither a session nor to say who asks.
func (h *Handler) alone(w http.ResponseWriter, r *http.Request, rq *mcp.Request) {
	x := h.newExchange(w, r, rq.Principal.ID, rq.Revision, nil)
	result, err := h.handle(r, rq, x)
	x.answer(http.StatusOK, jsonrpc.One(response(rq.ID, result, err)))
}

// untilClosing is ctx until the handler is closed, or its principal revoked.
func (h *Handler) untilClosing(ctx context.Context, revoked <-chan struct{}) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.closing, func() { cancel(jsonrpc.ErrClosed) })
	if revoked == nil {
		return ctx, func(cause error) {
			stop()
			cancel(cause)
		}
	}
	done := h.revocable.add(revoked, func() { cancel(errRevoked) })
	return ctx, func(cause error) {
		done()
		stop()
		cancel(cause)
	}
}

// statusOf is the status that goes with an error of a request that was settled.
func statusOf(code int) int {
	switch code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidRequest, mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func response(id jsonrpc.ID, result json.RawMessage, err error) *jsonrpc.Message {
	if err != nil {
		return &jsonrpc.Message{ID: id, Error: asError(err)}
	}
	return &jsonrpc.Message{ID: id, Result: result}
}

// asError is what a client is told. That its request was cancelled it knows.
func asError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "the request was cancelled")
}
