package mcp

import (
	"context"
	"encoding/json"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/internal/link"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// engine is a Server as package transport sees it.
type engine Server

type linkSession = link.Session[*Request, Revision]

var _ link.Server[*Request, Revision, Principal, Event] = (*engine)(nil)

func init() {
	link.Of = func(s any) any { return (*engine)(s.(*Server)) }
	link.AllFacts = link.Facts[Revision, Event]{
		Rules: func(r Revision) link.Rules {
			return link.Rules{
				Batches: r.batches(), ErrorWithoutID: r.errorWithoutID(), PrimedStreams: r.primed(),
				Resumable: r.resumable(), MethodHeader: r.routingHeader(), VersionHeader: r.versionHeader(),
			}
		},
		UnsupportedVersion: unsupportedVersion,
		ErrorCode:          errorCode,
		Notification:       func(e Event) (string, any) { return e.notification() },
	}
}

func (e *engine) NewRequest(m *jsonrpc.Message, p Principal, h link.Headers) *Request {
	return newRequest(m, p, h)
}
func (e *engine) Stateless(r *Request) bool { return r.stateless() }

func (e *engine) Initialize(r *Request, state link.SessionState) (linkSession, error) {
	x, err := (*Server)(e).begin(r, state)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (e *engine) OpenSession(packed []byte, state link.SessionState) (linkSession, error) {
	x, err := openSession(packed, state)
	if err != nil {
		return nil, err
	}
	return x, nil
}
func (e *engine) Prepare(r *Request) error           { return (*Server)(e).prepare(r) }
func (e *engine) PrepareNoHandshake(r *Request) bool { return (*Server)(e).prepareNoHandshake(r) }
func (e *engine) PrepareSessionless(r *Request, rev Revision) {
	(*Server)(e).prepareSessionless(r, rev)
}

func (e *engine) UnknownMethod(r *Request) *jsonrpc.Error {
	return (*Server)(e).unknownMethodError(r)
}

func (e *engine) Handle(ctx context.Context, r *Request, out link.Sink) (json.RawMessage, error) {
	return (*Server)(e).handle(ctx, r, out)
}
func (e *engine) Release(result json.RawMessage) { reuse(result) }
func (e *engine) ReleaseRequest(r *Request) bool { return r.release() }

func (e *engine) Listen(x linkSession, p Principal) link.Listener[Event] {
	return (*Server)(e).listenTo(x.(*session), p)
}
func (e *engine) Connected() (disconnected func(error)) { return (*Server)(e).connected() }
func (e *engine) Rejected(err error)                    { (*Server)(e).rejected(err) }
func (e *engine) Keyring() *replica.Keyring             { return e.o.Keyring }
