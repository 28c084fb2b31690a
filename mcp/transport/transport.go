// Package transport is for authors of transports. A transport that carries
// messages in both directions over one connection needs only jsonrpc.Transport
// and mcp.Server.Serve. One that receives each request alone, as HTTP does, uses
// a Server of this package:
//
//	r := ts.NewRequest(m, principal, headers)
//	switch {
//	case ts.Stateless(r):
//		err = ts.Prepare(r) // from 2026-07-28 on a request describes itself
//	case session != nil:
//		session.Prepare(r, logLevel) // from Initialize or OpenSession
//	default:
//		ok = ts.PrepareNoHandshake(r) // or PrepareSessionless
//	}
//	result, err := ts.Handle(ctx, r, sink)
package transport

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/internal/link"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// A Sink sends the client what belongs to a request, other than its response.
type Sink interface {
	// Notify sends a notification.
	Notify(ctx context.Context, method string, params any) error
	// Call sends a request to the client and waits for the response. Only
	// revisions with a handshake have such requests.
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// An Idler is a Sink whose request holds a concurrency slot.
type Idler interface {
	// Idle releases the slot until resume is called.
	Idle() (resume func())
}

// A StreamCloser is a Sink that can close its connection before the response is
// ready. The client fetches the rest on another connection, after the time retry.
type StreamCloser interface {
	CloseStream(retry time.Duration)
}

// A LossReporter is a Sink that can tell whether its response was lost.
type LossReporter interface {
	// OnLost registers f, to be called once it is known that the client had
	// disconnected before the response was written, and did not fetch it later.
	OnLost(f func())
}

// Headers are the headers of a request; http.Header is one.
type Headers interface {
	Values(name string) []string
}

// A SessionState stores what a client sets after its handshake. Its methods may
// be called concurrently. If it also has a method ID() string, that identifies
// the session for mcp.Request.SessionID.
type SessionState interface {
	// SetLogLevel sets the minimum level of log messages sent to the client,
	// such as "warning".
	SetLogLevel(ctx context.Context, level string) error
	// Subscribed reports whether the client is subscribed to a resource.
	Subscribed(uri string) bool
	// Subscribe subscribes or unsubscribes the client. It returns
	// ErrTooManySubscriptions if it already has limit subscriptions.
	Subscribe(ctx context.Context, uri string, on bool, limit int) error
}

// ErrTooManySubscriptions means that a client has reached the limit of
// subscriptions.
var ErrTooManySubscriptions = link.ErrTooManySubscriptions

// Holder returns the owner of what a request leaves for later ones, such as a
// session or a task: the ID of the principal with its rights. A request of the same
// principal with other rights has another holder, so it cannot use them to do what
// it may not do itself.
func Holder(p mcp.Principal) string { return link.Holder(p.ID, p.Rights) }

// Rules are the facts of a revision that transports depend on.
type Rules struct {
	Batches        bool // messages may come in batches
	ErrorWithoutID bool // an error response to no particular request has no id
	PrimedStreams  bool // a stream begins with an event id
	Resumable      bool // broken streams can be resumed
	MethodHeader   bool // headers repeat the method and the name
	VersionHeader  bool // a header names the revision
}

var facts = link.AllFacts.(link.Facts[mcp.Revision, mcp.Event])

// RulesOf returns the rules of a revision.
func RulesOf(r mcp.Revision) Rules { return Rules(facts.Rules(r)) }

// UnsupportedVersion returns the error for a revision that is not supported.
func UnsupportedVersion(requested string) *jsonrpc.Error { return facts.UnsupportedVersion(requested) }

// ErrorCode returns the JSON-RPC code by which an error of a handler is sent.
func ErrorCode(err error) int { return facts.ErrorCode(err) }

// EventNotification returns the notification that tells a client of an event.
func EventNotification(e mcp.Event) (method string, params any) { return facts.Notification(e) }

type (
	linkServer  = link.Server[*mcp.Request, mcp.Revision, mcp.Principal, mcp.Event]
	linkSession = link.Session[*mcp.Request, mcp.Revision]
)

// A Server answers single requests on behalf of an mcp.Server.
type Server struct{ s linkServer }

// NewServer returns the Server of s.
func NewServer(s *mcp.Server) *Server { return &Server{link.Of(s).(linkServer)} }

// NewRequest returns the request in m, which came with the headers h, or nil. It
// must be prepared before it is handled, by one of the methods that do that.
func (s *Server) NewRequest(m *jsonrpc.Message, p mcp.Principal, h Headers) *mcp.Request {
	return s.s.NewRequest(m, p, h)
}

// Stateless reports whether the request itself names its revision.
func (s *Server) Stateless(r *mcp.Request) bool { return s.s.Stateless(r) }

// Prepare prepares a stateless request, and checks that its headers match it.
// The error is a *jsonrpc.Error.
func (s *Server) Prepare(r *mcp.Request) error { return s.s.Prepare(r) }

// PrepareNoHandshake prepares a request for a method that needs no handshake. It
// returns false if the method needs one.
func (s *Server) PrepareNoHandshake(r *mcp.Request) bool { return s.s.PrepareNoHandshake(r) }

// PrepareSessionless prepares a request without a session in a revision with a
// handshake. Its client has no capabilities and cannot set anything.
func (s *Server) PrepareSessionless(r *mcp.Request, rev mcp.Revision) {
	s.s.PrepareSessionless(r, rev)
}

// UnknownMethod returns the error for a request whose method does not exist in
// any revision, or nil.
func (s *Server) UnknownMethod(r *mcp.Request) *jsonrpc.Error { return s.s.UnknownMethod(r) }

// Initialize prepares an initialize request and returns its session, which
// starts when the request was handled without an error. st may be nil if the
// session is only packed.
func (s *Server) Initialize(r *mcp.Request, st SessionState) (*Session, error) {
	x, err := s.s.Initialize(r, state(st))
	if err != nil {
		return nil, err
	}
	return &Session{x}, nil
}

// OpenSession unpacks a session packed by AppendBinary.
func (s *Server) OpenSession(packed []byte, st SessionState) (*Session, error) {
	x, err := s.s.OpenSession(packed, state(st))
	if err != nil {
		return nil, err
	}
	return &Session{x}, nil
}

func state(st SessionState) link.SessionState {
	if st == nil {
		return nil
	}
	return st
}

// Handle handles a request that was prepared, and sends notifications and
// requests that belong to it to out. The result is encoded for the request's
// revision. The error is a *jsonrpc.Error or the cause that ended ctx.
func (s *Server) Handle(ctx context.Context, r *mcp.Request, out Sink) (json.RawMessage, error) {
	return s.s.Handle(ctx, r, out)
}

// Release lets the memory of a result of Handle be reused. The result must not be
// used afterwards. Calling Release is optional.
func (s *Server) Release(result json.RawMessage) { s.s.Release(result) }

// ReleaseRequest ends the use of a request whose response was sent. It reports
// whether nothing refers to the memory of its message any more, so that the caller
// may reuse it. Calling it is optional.
func (s *Server) ReleaseRequest(r *mcp.Request) bool { return s.s.ReleaseRequest(r) }

// Listen returns a listener for the events that the client of a session
// subscribed to, and that its principal sees. The caller must close it.
func (s *Server) Listen(x *Session, p mcp.Principal) *Listener {
	return &Listener{s.s.Listen(x.x, p)}
}

// Connected reports a new connection to the observer of the server. The returned
// function reports its end.
func (s *Server) Connected() (disconnected func(error)) { return s.s.Connected() }

// Rejected reports input that did not become a request to the observer.
func (s *Server) Rejected(err error) { s.s.Rejected(err) }

// Keyring returns the keyring of the server, to seal data that clients carry.
func (s *Server) Keyring() *replica.Keyring { return s.s.Keyring() }

// A Session is what an initialize request negotiated.
type Session struct{ x linkSession }

// Revision returns the negotiated revision.
func (x *Session) Revision() mcp.Revision { return x.x.Revision() }

// Prepare prepares a request of the session. logLevel is the level that the
// client has set, or "".
func (x *Session) Prepare(r *mcp.Request, logLevel string) { x.x.Prepare(r, logLevel) }

// AppendBinary appends the session in at most 300 bytes.
func (x *Session) AppendBinary(b []byte) ([]byte, error) { return x.x.AppendBinary(b) }

// A Listener collects events. However slowly it is read, it holds each event at
// most once.
type Listener struct{ l link.Listener[mcp.Event] }

// Next waits for events and returns them. It returns nil if ctx is done first.
func (l *Listener) Next(ctx context.Context) []mcp.Event { return l.l.Next(ctx) }

// Close stops the listener.
func (l *Listener) Close() { l.l.Close() }
