package mcp

import (
	"github.com/bossman-dev/bossman/jsonrpc"
)

// Serve is the door for a pipe. What follows is the other one, for transports
// where each request comes alone: read it, settle it in its era, Handle it.
//
//	r := NewRequest(m, principal)
//	switch {
//	case r.Stateless():
//		err = s.Settle(r, headers)
//	case there is a session:
//		session.Settle(r, level) // from Begin or OpenSession
//	default:
//		ok = s.SettleAlone(r)
//	}
//	result, err := s.Handle(ctx, r, sink)

// NewRequest reads what a request says about itself. The request has to be
// settled before it is handled.
func NewRequest(m *jsonrpc.Message, p Principal) *Request {
	r := &Request{ID: m.ID, Method: m.Method, Params: m.Params, Principal: p}
	r.read()
	return r
}

// Stateless reports whether the request itself names the revision it is made in,
// which those of the era without a handshake do.
func (r *Request) Stateless() bool { return r.meta.version != nil }

// Begin reads an initialize request, and settles it. The session has begun when
// the request has been handled without an error. It may have no state if it is
// only packed.
func (s *Server) Begin(r *Request, state SessionState) (*Session, error) {
	x, err := newSession(r, state)
	if err != nil {
		return nil, err
	}
	x.Settle(r, 0)
	return x, nil
}

// SettleAlone settles a request for a method that needs no handshake, as if a
// client of the newest revision with one had sent it. It reports false if the
// method does need one.
func (s *Server) SettleAlone(r *Request) bool {
	if !s.withoutHandshake(r.Method) {
		return false
	}
	(&Session{revision: newestLegacy, state: &memoryState{}}).Settle(r, 0)
	return true
}

// Keyring is what the server seals with. Transports that have clients carry
// something seal it with this.
func (s *Server) Keyring() *Keyring { return s.o.Seal }
