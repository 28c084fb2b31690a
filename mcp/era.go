package mcp

import "github.com/bossman-dev/bossman/jsonrpc"

// There are two eras: sessions, which begin with a handshake, and stateless
// requests, which identify their sender themselves. A connection may carry both
// at once; each message shows which era it belongs to.
//
// Serve handles connections. Transports that carry each request separately,
// such as HTTP, use the following methods instead: parse the request, prepare
// it in its era, and Handle it.
//
//	r := NewRequest(m, principal)
//	switch {
//	case r.Stateless():
//		err = s.Settle(r, headers)
//	case there is a session:
//		session.Settle(r, level) // from Begin or OpenSession
//	default:
//		ok = s.SettleAlone(r) // or SettleSessionless
//	}
//	result, err := s.Handle(ctx, r, sink)

// NewRequest returns the request in m. It must be prepared by one of the Settle
// methods before it is handled.
func NewRequest(m *jsonrpc.Message, p Principal) *Request {
	r := &Request{ID: m.ID, Method: m.Method, Params: m.Params, Principal: p}
	r.parse()
	return r
}

// Stateless reports whether the request itself names its revision, as requests
// of the stateless era do.
func (r *Request) Stateless() bool { return r.meta.version != nil }

// Begin prepares an initialize request and returns its session. The session
// starts when the request was handled without an error. state may be nil if the
// session is only packed.
func (s *Server) Begin(r *Request, state SessionState) (*Session, error) {
	x, err := newSession(r, state)
	if err != nil {
		return nil, err
	}
	x.Settle(r, 0)
	return x, nil
}

// SettleAlone prepares a request for a method that needs no handshake, as if a
// client of the latest revision with a handshake had sent it. It returns false
// if the method needs a handshake.
func (s *Server) SettleAlone(r *Request) bool {
	if !s.needsNoHandshake(r.Method) {
		return false
	}
	(&Session{revision: newestLegacy, state: &memoryState{}}).Settle(r, 0)
	return true
}

// SettleSessionless prepares a request of the session era without a session, in
// a revision with a handshake. Its client has no capabilities and cannot set
// anything; a cursor that this server has not given it begins at the first page.
func (s *Server) SettleSessionless(r *Request, rev Revision) {
	(&Session{revision: rev, state: &memoryState{}, alone: true}).Settle(r, 0)
}

// UnknownMethod returns the error for a request whose method does not exist in
// any revision, or nil. A transport can thus tell it from one that needs a
// handshake.
func (s *Server) UnknownMethod(r *Request) *jsonrpc.Error {
	if s.knows(r.Method) {
		return nil
	}
	return unknownMethod(r.Method)
}

// Keyring returns the server's keyring. Transports use it to seal data that
// clients carry.
func (s *Server) Keyring() *Keyring { return s.o.Seal }

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
