package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
)

// A pendingCall is an outgoing request that waits for its response.
type pendingCall struct {
	outcome chan outcome // buffered, capacity 1
	bypass  bool         // sent while a notification was handled: the response must not wait in notifyQueue
}

// An outcome is the response to a call, or the reason why there is none.
type outcome struct {
	m   *Message
	err error
}

// Call sends a request and waits for the response. An error response is
// returned as a *Error. If ctx ends first, Call returns its cause and the
// response is ignored.
func (p *Peer) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return p.CallWithID(ctx, method, params, nil)
}

// CallWithID is like Call, and calls began with the id of the request before it
// is sent. Protocols need the id to cancel a request or to relate notifications
// to it.
func (p *Peer) CallWithID(ctx context.Context, method string, params any, began func(ID)) (json.RawMessage, error) {
	raw, err := encode(params)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	q := &pendingCall{outcome: make(chan outcome, 1)}
	p.mu.Lock()
	q.bypass = p.notifyBusy // the handler may be what calls, or wait for it
	if p.closeErr != nil {
		p.mu.Unlock()
		return nil, p.closeErr
	}
	p.lastID++
	id := IntID(p.lastID)
	p.calls[id] = q
	p.mu.Unlock()

	if began != nil {
		began(id)
	}
	if err := p.send(ctx, One(&Message{ID: id, Method: method, Params: raw})); err != nil {
		p.removeCall(id)
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	select {
	case a := <-q.outcome:
		switch {
		case a.err != nil:
			return nil, fmt.Errorf("call %s: %w", method, a.err)
		case a.m.Error != nil:
			return nil, a.m.Error
		}
		return a.m.Result, nil
	case <-ctx.Done():
		if p.removeCall(id) && p.o.Abandoned != nil {
			p.o.Abandoned(id, method, context.Cause(ctx))
		}
		return nil, context.Cause(ctx)
	}
}

// removeCall removes a pending call and reports whether it was still pending.
func (p *Peer) removeCall(id ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, open := p.calls[id]
	delete(p.calls, id)
	return open
}

// Notify sends a notification.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	raw, err := encode(params)
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return p.send(ctx, One(&Message{Method: method, Params: raw}))
}

func encode(params any) (json.RawMessage, error) {
	switch v := params.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(v) == 0 {
			return nil, nil
		}
		return v, nil
	}
	return jsonv2.Marshal(params, jsonv2.Deterministic(true))
}

// handleResponse delivers a response to its caller, or drops it if there is
// none.
func (p *Peer) handleResponse(m *Message) {
	switch {
	case p.deliver(m.ID, outcome{m: m}):
	case m.ID.IsZero():
		p.reportRefused(fmt.Errorf("error response without id: %w", m.Error))
	default:
		p.reportRefused(fmt.Errorf("response to unknown id %s", m.ID))
	}
}

// deliver passes an outcome to the caller of id, after the notifications that
// arrived before it, unless the caller may be the handler of one. It reports whether there is such a caller.
func (p *Peer) deliver(id ID, a outcome) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.calls[id]
	if q == nil {
		return false
	}
	delete(p.calls, id)
	if p.notifyBusy && !q.bypass {
		p.notifyQueue = append(p.notifyQueue, queuedItem{run: func() { q.outcome <- a }, response: true})
	} else {
		q.outcome <- a // never blocks
	}
	return true
}
