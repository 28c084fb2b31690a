package jsonrpc

import (
	"context"
	"encoding/json"
	"runtime/debug"
)

// serve handles a request and sends its response.
func (p *Peer) serve(r *request) { p.reply(r, p.respond(r)) }

// respond calls the handler and returns the response, or nil if the request was
// cancelled while queued.
func (p *Peer) respond(r *request) *Message {
	p.mu.Lock()
	cancelled := r.cancelled
	if cancelled {
		p.passTurnLocked(r)
	}
	p.mu.Unlock()
	if cancelled {
		return nil
	}
	result, err := p.callHandler(r)
	if r.ordered {
		p.passTurn(r) // not after the response: the other end may be slow to read it
	}
	m := r.m // reused as the response, to save an allocation
	m.Method, m.Params = "", nil
	switch {
	case err != nil:
		m.Error = asError(err)
	case len(result) == 0:
		m.Result = json.RawMessage("{}")
	default:
		m.Result = result
	}
	return m
}

func (p *Peer) callHandler(r *request) (result json.RawMessage, err error) {
	if p.o.Handle == nil {
		return nil, Errorf(CodeMethodNotFound, "method %q not found", r.m.Method)
	}
	defer func() {
		if v := recover(); v != nil {
			if p.o.Panicked != nil {
				p.o.Panicked(r.m, v, debug.Stack())
			}
			err = Errorf(CodeInternal, "Internal error")
		}
	}()
	return p.o.Handle(r, r.m)
}

// reply sends the response m to r, unless r was cancelled. r is nil for an
// error that answers no particular request; m is nil if there is no response.
func (p *Peer) reply(r *request, m *Message) {
	if m != nil && m.ID.IsZero() {
		m.NoID = p.o.NoID != nil && p.o.NoID()
	}
	if r != nil {
		p.mu.Lock()
		if r.cancelled {
			m = nil
		}
		p.markWritingLocked(r)
		if r.replied = true; r.m != nil && p.inFlight[r.m.ID] == r {
			delete(p.inFlight, r.m.ID)
		}
		p.mu.Unlock()
		if r.batch != nil {
			r.batch.done(p, m)
			return
		}
	}
	if m == nil {
		return
	}
	if r != nil && r.moreInput {
		r.buffered = true
		if err := p.buffered.buffer(One(m)); err != nil {
			p.fail(err)
		}
	} else {
		_ = p.send(context.Background(), One(m))
	}
	if p.o.Sent != nil && m.Result != nil {
		p.o.Sent(m.Result)
	}
}
