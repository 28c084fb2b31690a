package mcp

import (
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// There are two eras: sessions, which begin with a handshake, and stateless
// requests, which identify their sender themselves. A connection may carry both
// at once; each message shows which era it belongs to.
//
// Serve handles connections. Transports that carry each request separately,
// such as HTTP, use package transport, which calls what follows by way of
// engine.go.

// newRequest returns the request in m, which came with the headers h, or nil. It
// must be prepared before it is handled.
func newRequest(m *jsonrpc.Message, p Principal, h link.Headers) *Request {
	r := &Request{ID: m.ID, Method: m.Method, Principal: p, params: m.Params}
	if h != nil {
		r.origin = h
	}
	r.parse()
	return r
}

// stateless reports whether the request itself names its revision, as requests
// of the stateless era do.
func (r *Request) stateless() bool { return r.meta.version.to > 0 }

// begin prepares an initialize request and returns its session. The session
// starts when the request was handled without an error. state may be nil if the
// session is only packed.
func (s *Server) begin(r *Request, state link.SessionState) (*session, error) {
	x, err := newSession(r, state)
	if err != nil {
		return nil, err
	}
	x.settle(r, 0)
	return x, nil
}

// prepareNoHandshake prepares a request for a method that needs no handshake, as if a
// client of the latest revision with a handshake had sent it. It returns false
// if the method needs a handshake.
func (s *Server) prepareNoHandshake(r *Request) bool {
	if !s.needsNoHandshake(r.Method) {
		return false
	}
	(&session{revision: newestLegacy, state: &memoryState{}}).settle(r, 0)
	return true
}

// prepareSessionless prepares a request of the session era without a session, in
// a revision with a handshake. Its client has no capabilities and cannot set
// anything; a cursor that this server has not given it begins at the first page.
func (s *Server) prepareSessionless(r *Request, rev Revision) {
	(&session{revision: rev, state: &memoryState{}, alone: true}).settle(r, 0)
}

// unknownMethodError returns the error for a request whose method does not exist in
// any revision, or nil. A transport can thus tell it from one that needs a
// handshake.
func (s *Server) unknownMethodError(r *Request) *jsonrpc.Error {
	if s.knows(r.Method) {
		return nil
	}
	return unknownMethod(r.Method)
}

// knows reports whether a client of some revision may call the method.
func (s *Server) knows(method string) bool {
	if w, ok := vocabulary[method]; ok {
		return w.client != span{}
	}
	_, ok := s.methods.get(method)
	return ok
}

func (s *Server) needsNoHandshake(method string) bool {
	m, ok := s.methods.get(method)
	return ok && m.NoHandshake
}
