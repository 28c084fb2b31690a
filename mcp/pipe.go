package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// A pipe is a connection to one client over a transport.
type pipe struct {
	server *Server
	peer   *jsonrpc.Peer

	session   atomic.Pointer[session] // set by initialize
	state     memoryState             // of the session
	stateless atomic.Bool             // a stateless request was received
	listening sync.WaitGroup

	mu            sync.Mutex
	stopListening context.CancelFunc // ends the goroutine in listening
}

// Serve serves one client over a transport until the client disconnects or ctx
// is done. It returns nil if the client disconnected normally.
func (s *Server) Serve(ctx context.Context, t jsonrpc.Transport) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &pipe{server: s, stopListening: func() {}}
	p.peer = jsonrpc.NewPeer(t, &jsonrpc.PeerOptions{
		Handle:    p.handle,
		Notified:  p.handleNotification,
		Urgent:    urgent,
		Ordered:   p.ordered,
		Batches:   p.batches,
		NoID:      p.errorWithoutID,
		Sent:      reuse,
		Abandoned: p.sendCancelled,
		Refused:   s.rejected,
		Panicked:  func(_ *jsonrpc.Message, v any, _ []byte) { _ = s.reportPanic(v) },
	})
	closed := s.connected()
	err := p.peer.Run(ctx)
	p.mu.Lock()
	p.stopListening()
	p.mu.Unlock()
	p.listening.Wait()
	closed(err)
	return err
}

// urgent reports whether method is handled before the next message is read.
// Clients may send further messages without waiting for these.
func urgent(method string) bool {
	switch method {
	case "initialize", "ping", "notifications/initialized", "initialized", "notifications/cancelled":
		return true
	}
	return false
}

// ordered reports whether a request calls an Ordered tool or method.
func (p *pipe) ordered(m *jsonrpc.Message) bool {
	s := p.server
	switch {
	case !s.ordered.Load():
		return false
	case m.Method != "tools/call":
		method, ok := s.methods.get(m.Method)
		return ok && method.Ordered
	}
	t, ok := s.tools.get(rawjson.Text(member(m.Params, "name")))
	return ok && t.Ordered
}

func (p *pipe) batches() bool {
	s := p.session.Load()
	return s != nil && s.revision.batches()
}

func (p *pipe) errorWithoutID() bool {
	if s := p.session.Load(); s != nil {
		return s.revision.errorWithoutID()
	}
	return p.stateless.Load()
}

// handle handles one request.
func (p *pipe) handle(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
	r := newRequest(m, Principal{ID: "local"}, nil)
	var started *session
	err := p.prepare(r, m.Batched, &started)
	if err != nil {
		return nil, err
	}
	r.origin = ctx
	b, err := p.server.handle(ctx, r, p.peer)
	if started != nil && err == nil {
		p.session.Store(started)
	}
	return b, err
}

// prepare decides which era a request belongs to, and fills in the request. For
// initialize it sets started to the new session.
func (p *pipe) prepare(r *Request, batched bool, started **session) error {
	if len(r.params) > 0 && r.params[0] != '{' {
		return invalid("params must be an object")
	}
	s := p.session.Load()
	switch {
	case r.stateless():
		p.stateless.Store(true)
		if batched {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a request with a protocol version in _meta cannot be part of a batch")
		}
		return p.server.prepare(r)
	case r.Method == "server/discover" || r.Method == "subscriptions/listen":
		return invalid("%s needs %s and %s in _meta", r.Method, metaVersion, metaCapabilities)
	case r.Method == "initialize":
		if s != nil || batched {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "initialize must be sent once, and not in a batch")
		}
		var err error
		*started, err = p.server.begin(r, &p.state)
		return err
	case s == nil && p.server.prepareNoHandshake(r):
		return nil
	case (s == nil || !s.ready.Load()) && !p.server.knows(r.Method):
		return unknownMethod(r.Method) // whatever the state
	case s == nil && r.Method == "ping":
		s = &session{revision: newestLegacy, state: &p.state}
	case s == nil:
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
			"%s before initialize: begin with initialize, or put %s in _meta", r.Method, metaVersion)
	case !s.ready.Load() && r.Method != "ping" && !p.server.needsNoHandshake(r.Method):
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s before notifications/initialized", r.Method)
	}
	s.settle(r, logLevel(p.state.level.Load()))
	return nil
}

// handleNotification handles a notification from the client.
func (p *pipe) handleNotification(ctx context.Context, n *jsonrpc.Message) {
	switch n.Method {
	case "notifications/cancelled":
		var c cancelledParams
		if jsonv2.Unmarshal(n.Params, &c) == nil && !c.RequestID.IsZero() {
			p.peer.Cancel(c.RequestID)
		}
	case "notifications/initialized", "initialized": // some clients send the short name
		p.initialized(ctx)
	}
}

type cancelledParams struct {
	RequestID jsonrpc.ID `json:"requestId"`
	Reason    string     `json:"reason,omitzero"`
}

// initialized completes the handshake. From now on the client is notified of
// changes.
func (p *pipe) initialized(ctx context.Context) {
	s := p.session.Load()
	if s == nil || s.ready.Swap(true) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, p.stopListening = context.WithCancel(ctx)
	l := p.server.listenTo(s, Principal{ID: "local"})
	p.listening.Go(func() {
		defer l.Close()
		for events := l.Next(ctx); events != nil; events = l.Next(ctx) {
			for _, e := range events {
				method, params := e.notification()
				if p.peer.Notify(ctx, method, params) != nil {
					return
				}
			}
		}
	})
}

// sendCancelled tells the client that the server no longer waits for its
// response.
func (p *pipe) sendCancelled(id jsonrpc.ID, _ string, cause error) {
	_ = p.peer.Notify(context.Background(), "notifications/cancelled", cancelledParams{id, cause.Error()})
}
