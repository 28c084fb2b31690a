// Package link lets package transport reach parts of package mcp that its users
// need not see. Its types are generic because it cannot import mcp.
package link

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// Sink is transport.Sink.
type Sink interface {
	Notify(ctx context.Context, method string, params any) error
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// Headers is transport.Headers.
type Headers interface {
	Values(name string) []string
}

// SessionState is transport.SessionState.
type SessionState interface {
	SetLogLevel(ctx context.Context, level string) error
	Subscribed(uri string) bool
	Subscribe(ctx context.Context, uri string, on bool, limit int) error
}

// ErrTooManySubscriptions is transport.ErrTooManySubscriptions.
var ErrTooManySubscriptions = errors.New("too many subscriptions")

// Gaps, as in package transport.
const (
	GapReconnected = "reconnected"
	GapSessionLost = "session lost"
	GapFinal       = "final"
)

// Holder is transport.Holder for a principal with this ID and these rights.
func Holder(id, rights string) string {
	if rights == "" {
		return id
	}
	return id + "\n" + rights
}

// Watch is told what goes wrong in handlers, for package mcptest.
type Watch struct {
	Panicked  func(value any, stack []byte)
	Swallowed func(what string) // a handler did not return the error of a question
}

type watchKey struct{}

// WithWatch returns a context whose handlers are watched.
func WithWatch(ctx context.Context, w *Watch) context.Context {
	return context.WithValue(ctx, watchKey{}, w)
}

// WatchOf returns the Watch of a context, or nil.
func WatchOf(ctx context.Context) *Watch {
	w, _ := ctx.Value(watchKey{}).(*Watch)
	return w
}

// Rules is transport.Rules.
type Rules struct {
	Batches, ErrorWithoutID, PrimedStreams, Resumable, MethodHeader, VersionHeader bool
}

// Session is what transport.Session wraps.
type Session[Request, Revision any] interface {
	Revision() Revision
	Prepare(r Request, logLevel string)
	AppendBinary(b []byte) ([]byte, error)
}

// Listener is what transport.Listener wraps.
type Listener[Event any] interface {
	Next(ctx context.Context) []Event
	Close()
}

// Server is what transport.Server wraps.
type Server[Request, Revision, Principal, Event any] interface {
	NewRequest(m *jsonrpc.Message, p Principal, h Headers) Request
	Stateless(r Request) bool
	Initialize(r Request, state SessionState) (Session[Request, Revision], error)
	OpenSession(packed []byte, state SessionState) (Session[Request, Revision], error)
	Prepare(r Request) error
	PrepareNoHandshake(r Request) bool
	PrepareSessionless(r Request, rev Revision)
	UnknownMethod(r Request) *jsonrpc.Error
	Handle(ctx context.Context, r Request, out Sink) (json.RawMessage, error)
	Release(result json.RawMessage)
	ReleaseRequest(r Request) bool
	Listen(x Session[Request, Revision], p Principal) Listener[Event]
	Connected() (disconnected func(error))
	Rejected(err error)
	Keyring() *replica.Keyring
}

// Facts are functions of package mcp that need no server.
type Facts[Revision, Event any] struct {
	Rules              func(Revision) Rules
	UnsupportedVersion func(requested string) *jsonrpc.Error
	ErrorCode          func(error) int
	Notification       func(Event) (method string, params any)
}

// Package mcp sets these.
var (
	Of       func(server any) any // a Server
	AllFacts any                  // Facts
)
