package mcp

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// The era with a handshake: initialize negotiates the revision and the
// capabilities for all later requests.

// maxSubscriptions limits the resources that one session may subscribe to.
const maxSubscriptions = 1000

// A session is the result of a handshake. What the client sets later is in its
// state.
type session struct {
	revision Revision
	client   ClientCapabilities
	info     Implementation
	state    link.SessionState
	alone    bool // there was no handshake: see prepareSessionless

	ready atomic.Bool // on a pipe: notifications/initialized was received
}

type initializeParams struct {
	Capabilities ClientCapabilities `json:"capabilities"`
	ClientInfo   Implementation     `json:"clientInfo"`
}

type initializeResult struct {
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	Instructions    string             `json:"instructions,omitzero"`
}

// newSession returns the session for an initialize request. If the client
// offers an unknown revision, or one without a handshake, the session uses the
// latest one with a handshake.
func newSession(r *Request, state link.SessionState) (*session, error) {
	var p initializeParams
	if err := object("params", r.params, &p); err != nil {
		return nil, err
	}
	x := &session{revision: newestLegacy, client: p.Capabilities, info: p.ClientInfo, state: state}
	for name, v := range rawjson.Members(r.params) {
		if name != "protocolVersion" {
			continue
		}
		if offered, err := text(name, v); err == nil {
			if rev, ok := ParseRevision(offered); ok && !rev.Stateless() {
				x.revision = rev
			}
		}
	}
	if !vocabulary["elicitation/create"].fromServer(x.revision) {
		x.client.Elicitation = nil // this revision has no such request
	}
	return x, nil
}

// Revision returns the negotiated revision.
func (x *session) Revision() Revision { return x.revision }

// Prepare prepares a request of the session. level is the name of the log level
// that the client has set, or "".
func (x *session) Prepare(r *Request, level string) {
	l, _ := parseLogLevel(level)
	x.settle(r, l)
}

func (x *session) settle(r *Request, level logLevel) {
	r.Revision, r.Capabilities = x.revision, x.client
	r.session = x
	r.logLevel = cmp.Or(level, logInfo)
}

// update handles a request that changes the session's state.
func (x *session) update(ctx context.Context, server *Server, r *Request) (Result, error) {
	switch r.Method {
	case "logging/setLevel":
		return x.setLevel(ctx, r)
	case "resources/subscribe":
		return x.subscribe(ctx, server, r, true)
	default:
		return x.subscribe(ctx, server, r, false)
	}
}

func (x *session) setLevel(ctx context.Context, r *Request) (Result, error) {
	name, err := text("level", r.param("level"))
	if err != nil {
		return nil, err
	}
	if _, ok := parseLogLevel(name); !ok {
		return nil, invalid("unknown log level %q", name)
	}
	return nil, x.state.SetLogLevel(ctx, name)
}

func (x *session) subscribe(ctx context.Context, server *Server, r *Request, on bool) (Result, error) {
	if !server.hasResources() {
		return nil, unknownMethod(r.Method)
	}
	uri, err := text("uri", r.param("uri"))
	if err != nil {
		return nil, err
	}
	if res := server.findResource(ctx, r, uri); on && res == nil {
		return nil, resourceNotFound(r, uri)
	}
	err = x.state.Subscribe(ctx, uri, on, maxSubscriptions)
	if errors.Is(err, link.ErrTooManySubscriptions) {
		return nil, invalid("more than %d subscriptions", maxSubscriptions)
	}
	return nil, err
}

// wants reports whether the client is notified of an event.
func (x *session) wants(e Event) bool {
	switch e.Kind {
	case EventTools, EventPrompts, EventResources:
		return true
	case EventResource:
		return x.state.Subscribed(e.Name)
	case eventPart:
		uri, _ := e.part()
		return x.state.Subscribed(uri)
	}
	return false
}

func (s *Server) initialize(r *Request) (Result, error) {
	return initializeResult{
		ProtocolVersion: r.Revision.String(),
		Capabilities:    s.capabilities(r.Revision),
		ServerInfo:      s.info,
		Instructions:    s.o.Instructions,
	}, nil
}
