package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// There are two eras: sessions, which begin with a handshake, and stateless
// requests, which say themselves who asks. On a pipe both may be held at once;
// each message tells which it belongs to.

// A pipe is a conversation over a transport.
type pipe struct {
	server *Server
	peer   *jsonrpc.Peer

	session   atomic.Pointer[Session] // after initialize
	state     memoryState             // the session's
	stateless atomic.Bool             // a stateless request has been seen
	listening sync.WaitGroup

	mu   sync.Mutex
	stop context.CancelFunc // ends listening
}

// Serve talks to one client over a transport until the client ends, or ctx.
// It returns nil when the client ended in the ordinary way.
func (s *Server) Serve(ctx context.Context, t jsonrpc.Transport) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &pipe{server: s, stop: func() {}}
	p.peer = jsonrpc.NewPeer(t, &jsonrpc.PeerOptions{
		Handle:    p.handle,
		Notified:  p.notified,
		Urgent:    urgent,
		Batches:   p.batches,
		NoID:      p.errorWithoutID,
		Sent:      Reuse,
		Abandoned: p.abandoned,
		Refused:   s.Refused,
		Panicked:  func(_ *jsonrpc.Message, v any, _ []byte) { _ = s.recovered(v) },
	})
	closed := s.Opened()
	err := p.peer.Run(ctx)
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.listening.Wait()
	closed(err)
	return err
}

// Opened tells the observer of a conversation, and returns what tells it of the
// end.
func (s *Server) Opened() (closed func(error)) {
	o := &s.o.Observer
	if o.Opened != nil {
		o.Opened()
	}
	return func(err error) {
		if o.Closed != nil {
			o.Closed(err)
		}
	}
}

// Refused tells the observer of something that did not become a request.
func (s *Server) Refused(err error) {
	s.log.Debug("refused", "err", err)
	if s.o.Observer.Refused != nil {
		s.o.Observer.Refused(err)
	}
}

// urgent: clients send on without waiting for these to be done.
func urgent(method string) bool {
	switch method {
	case "initialize", "ping", "notifications/initialized", "notifications/cancelled":
		return true
	}
	return false
}

func (p *pipe) batches() bool {
	s := p.session.Load()
	return s != nil && s.revision.Batches()
}

func (p *pipe) errorWithoutID() bool {
	if s := p.session.Load(); s != nil {
		return s.revision.ErrorWithoutID()
	}
	return p.stateless.Load()
}

// handle answers one request.
func (p *pipe) handle(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
	r := NewRequest(m, Principal{ID: "local"})
	var begun *Session
	err := p.settle(r, m.Batched, &begun)
	if err != nil {
		return nil, err
	}
	b, err := p.server.Handle(ctx, r, p.peer)
	if begun != nil && err == nil {
		p.session.Store(begun)
	}
	return b, err
}

// settle decides which era a request belongs to, and fills it in. A handshake
// gives the session that it would begin.
func (p *pipe) settle(r *Request, batched bool, begun **Session) error {
	if len(r.Params) > 0 && r.Params[0] != '{' {
		return invalid("params must be an object")
	}
	s := p.session.Load()
	switch {
	case r.Stateless():
		p.stateless.Store(true)
		if batched {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a request with a protocol version in _meta cannot be part of a batch")
		}
		return p.server.Settle(r, nil)
	case r.Method == "server/discover" || r.Method == "subscriptions/listen":
		return invalid("%s needs %s and %s in _meta", r.Method, metaVersion, metaCapabilities)
	case r.Method == "initialize":
		if s != nil || batched {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "initialize comes once, and not in a batch")
		}
		var err error
		*begun, err = p.server.Begin(r, &p.state)
		return err
	case s == nil && p.server.SettleAlone(r):
		return nil
	case s == nil && r.Method == "ping":
		s = &Session{revision: newestLegacy, state: &p.state}
	case s == nil:
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
			"%s before initialize: begin with initialize, or put %s in _meta", r.Method, metaVersion)
	case !s.ready.Load() && r.Method != "ping" && !p.server.withoutHandshake(r.Method):
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s before notifications/initialized", r.Method)
	}
	s.Settle(r, LogLevel(p.state.level.Load()))
	return nil
}

func (s *Server) withoutHandshake(method string) bool {
	m, ok := s.methods.get(method)
	return ok && m.NoHandshake
}

// notified hears what the client tells.
func (p *pipe) notified(ctx context.Context, n *jsonrpc.Message) {
	switch n.Method {
	case "notifications/cancelled":
		var c cancelledParams
		if jsonv2.Unmarshal(n.Params, &c) == nil && !c.RequestID.IsZero() {
			p.peer.Cancel(c.RequestID)
		}
	case "notifications/initialized":
		p.initialized(ctx)
	}
}

type cancelledParams struct {
	RequestID jsonrpc.ID `json:"requestId"`
	Reason    string     `json:"reason,omitzero"`
}

// initialized ends the handshake: from now on the client hears of changes.
func (p *pipe) initialized(ctx context.Context) {
	s := p.session.Load()
	if s == nil || s.ready.Swap(true) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, p.stop = context.WithCancel(ctx)
	l := p.server.Listen(s)
	p.listening.Go(func() {
		defer l.Close()
		for events := l.Next(ctx); events != nil; events = l.Next(ctx) {
			for _, e := range events {
				method, params := e.Notification()
				if p.peer.Notify(ctx, method, params) != nil {
					return
				}
			}
		}
	})
}

// abandoned tells the client that nobody waits for its answer any more.
func (p *pipe) abandoned(id jsonrpc.ID, _ string, cause error) {
	_ = p.peer.Notify(context.Background(), "notifications/cancelled", cancelledParams{id, cause.Error()})
}
