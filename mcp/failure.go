package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// toRPCError converts an error to the one sent to the client.
func (s *Server) toRPCError(ctx context.Context, r *Request, err error) error {
	watchPanic(ctx, err)
	if e, ok := protocolError(err); ok {
		return e
	}
	_, isTool := errors.AsType[*ToolError](err)
	if cause := context.Cause(ctx); cause != nil && (isTool || errors.Is(err, cause) || errors.Is(err, ctx.Err())) {
		if errors.Is(cause, jsonrpc.ErrClosed) {
			return jsonrpc.Errorf(jsonrpc.CodeInternal, "the connection was closed before the request finished")
		}
		return cause
	}
	if isTool || errors.Is(err, ErrDeclined) || errors.Is(err, ErrDismissed) { // not a failure of this server
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", err)
	}
	if errors.Is(err, ErrNotFound) {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s", err)
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", s.logInternal(ctx, r, err))
}

// logInternal logs an error that must not be shown to the client, and returns a
// text with a reference to the log entry.
func (s *Server) logInternal(ctx context.Context, r *Request, err error) string {
	ref := rand.Text()[:10]
	s.log.ErrorContext(ctx, "request failed", "ref", ref, "method", r.Method, "revision", r.Revision.String(), "err", err)
	return "Internal error: ref " + ref
}

// A panicError stands for a handler's panic.
type panicError struct {
	value   any
	stack   []byte
	watched bool // package mcptest knows it
}

func (p *panicError) Error() string { return "panic" }

// watchPanic tells package mcptest if err is a handler's panic. It is not part of
// reportPanic, because the stacks of requests that wait must stay small.
func watchPanic(ctx context.Context, err error) {
	p, ok := errors.AsType[*panicError](err)
	if !ok || p.watched {
		return
	}
	p.watched = true
	if w := link.WatchOf(ctx); w != nil {
		w.Panicked(p.value, p.stack)
	}
}

// recovering calls a handler and converts a panic to an error.
func (s *Server) recovering(ctx context.Context, r *Request, h Handler) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, s.reportPanic(v)
		}
	}()
	return h(ctx, r)
}

func (s *Server) reportPanic(v any) error {
	stack := debug.Stack()
	s.log.Error("handler panicked", "value", v, "stack", string(stack))
	if s.o.Observer.Panicked != nil {
		s.o.Observer.Panicked(v, stack)
	}
	return &panicError{value: v, stack: stack}
}

// toToolResult converts an error to a result for the model, unless it is an
// error of the protocol.
func (s *Server) toToolResult(ctx context.Context, r *Request, err error) (Result, error) {
	watchPanic(ctx, err)
	if _, ok := protocolError(err); ok || ctx.Err() != nil {
		return nil, err
	}
	e, ok := errors.AsType[*ToolError](err)
	if !ok {
		if errors.Is(err, ErrDeclined) || errors.Is(err, ErrDismissed) || errors.Is(err, ErrNotFound) {
			e = &ToolError{Text: err.Error()}
		} else {
			e = &ToolError{Text: s.logInternal(ctx, r, err)}
		}
	}
	res := &ToolResult{Content: []Content{Text(e.Text)}, IsError: true, err: err}
	if e.Structured != nil {
		b, err := encodeUser(e.Structured)
		if err != nil {
			return nil, fmt.Errorf("encode a tool error: %w", err)
		}
		res.StructuredContent = b
	}
	return res, nil
}
