package mcp

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// The era with a handshake: initialize settles revision and capabilities for
// all that follows.

// maxSubscriptions is how many resources one session may watch.
const maxSubscriptions = 1000

// A session is what a handshake has settled, and what the client has set since.
type session struct {
	revision Revision
	client   ClientCapabilities
	info     Implementation

	ready    atomic.Bool   // the client has said notifications/initialized
	level    atomic.Uint32 // a LogLevel
	mu       sync.Mutex
	watching map[string]bool // resources whose changes the client wants to hear of
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

// newSession reads what initialize offers. A revision that we do not know, or
// that has no handshake, is answered with the newest that has one.
func newSession(r *Request) (*session, error) {
	var p initializeParams
	if err := object("params", r.Params, &p); err != nil {
		return nil, err
	}
	s := &session{revision: newestLegacy, client: p.Capabilities, info: p.ClientInfo, watching: map[string]bool{}}
	s.level.Store(uint32(LogInfo))
	for name, v := range jsonrpc.Members(r.Params) {
		if name != "protocolVersion" {
			continue
		}
		if offered, err := text(name, v); err == nil {
			if rev, ok := ParseRevision(offered); ok && !rev.Stateless() {
				s.revision = rev
			}
		}
	}
	return s, nil
}

// settle fills in a request from the session it belongs to.
func (s *session) settle(r *Request) {
	r.Revision, r.Client = s.revision, s.client
	r.ask = s.revision.asker()
	r.session = s
	r.LogLevel = LogLevel(s.level.Load())
}

// set does what the client wants of its session.
func (s *session) set(ctx context.Context, server *Server, r *Request) (Result, error) {
	switch r.Method {
	case "logging/setLevel":
		return s.setLevel(r)
	case "resources/subscribe":
		return s.watch(ctx, server, r, true)
	default:
		return s.watch(ctx, server, r, false)
	}
}

func (s *session) setLevel(r *Request) (Result, error) {
	name, err := text("level", r.param("level"))
	if err != nil {
		return nil, err
	}
	level, ok := ParseLogLevel(name)
	if !ok {
		return nil, invalid("unknown log level %q", name)
	}
	s.level.Store(uint32(level))
	return nil, nil
}

func (s *session) watch(ctx context.Context, server *Server, r *Request, on bool) (Result, error) {
	if !server.hasResources() {
		return nil, unknownMethod(r.Method)
	}
	uri, err := text("uri", r.param("uri"))
	if err != nil {
		return nil, err
	}
	if res, _ := server.findResource(ctx, r, uri); on && res == nil {
		return nil, resourceNotFound(r, uri)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !on {
		delete(s.watching, uri)
		return nil, nil
	}
	if len(s.watching) >= maxSubscriptions && !s.watching[uri] {
		return nil, invalid("more than %d subscriptions", maxSubscriptions)
	}
	s.watching[uri] = true
	return nil, nil
}

// wants reports whether the client is to hear of an event.
func (s *session) wants(e Event) bool {
	switch e.Kind {
	case EventTools, EventPrompts, EventResources:
		return true
	case EventResource:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.watching[e.Name]
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
