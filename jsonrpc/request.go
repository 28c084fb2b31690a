package jsonrpc

import (
	"context"
	"time"
)

// A request is an incoming request being handled. It is also the context of its
// handler.
type request struct {
	m     *Message
	peer  *Peer
	batch *batch

	ordered bool // see PeerOptions.Ordered

	moreInput bool // more input is buffered, so the response may be buffered too
	buffered  bool // the response was buffered

	// Guarded by peer.mu.
	hasSlot   bool // it holds a concurrency slot
	idle      bool // see Idle
	patient   bool // see Yield
	finish    bool // see Finish
	done      bool // it is finished
	writing   bool // its response is being written
	cancelled bool // the other end cancelled it
	replied   bool // its response is being written, so its id may be reused

	// The real context is created on first use. Most handlers finish without
	// using it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	cause  error // set by cancelLocked if there is no ctx yet
}

var _ context.Context = (*request)(nil)

func (r *request) context() context.Context {
	r.peer.mu.Lock()
	defer r.peer.mu.Unlock()
	if r.ctx == nil {
		r.ctx, r.cancel = context.WithCancelCause(r.peer.baseCtx)
		if r.cause != nil {
			r.cancel(r.cause)
		}
	}
	return r.ctx
}

// cancelLocked cancels the context. The first cause wins.
func (r *request) cancelLocked(cause error) {
	if r.cause == nil {
		r.cause = cause
	}
	if r.cancel != nil {
		r.cancel(cause)
	}
}

func (r *request) Deadline() (time.Time, bool) { return r.peer.baseCtx.Deadline() }
func (r *request) Done() <-chan struct{}       { return r.context().Done() }

func (r *request) Err() error {
	r.peer.mu.Lock()
	unused := r.ctx == nil && r.cause == nil
	r.peer.mu.Unlock()
	if unused {
		return r.peer.baseCtx.Err()
	}
	return r.context().Err()
}

type requestKey struct{}

func (r *request) Value(key any) any {
	if key == (requestKey{}) {
		return r
	}
	return r.context().Value(key)
}

// Idle marks the request of ctx as waiting, for the other end or for an event.
// An idle request gives up its concurrency slot and, if it is ordered, its turn;
// it is cancelled at once with cause ErrClosed when the peer closes. The returned
// function ends the idle state and takes a slot again, but not the turn. Idle does
// nothing if ctx does not belong to a request.
func Idle(ctx context.Context) (resume func()) { return idle(ctx, false) }

// Yield is like Idle for a request that may still finish after the other end has
// stopped sending: when the peer closes, it gets the same time as the others.
func Yield(ctx context.Context) (resume func()) { return idle(ctx, true) }

// Finish lets the request of ctx run to its end after the other end has stopped
// sending, as a program does that writes its only request and closes its output:
// the request is not bounded by Grace. It is still cancelled when the context of
// Run is done, or when nobody can read the response any more, which a pipe does not
// report on Windows. The handler must bound its time by itself. The returned
// channel is closed when the other end has stopped sending, so that it will not
// repeat the request; it is nil if ctx does not belong to a request.
func Finish(ctx context.Context) (eof <-chan struct{}) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return nil
	}
	p := r.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.done && !r.finish {
		r.finish = true
		p.finishing++
	}
	return p.eof
}

func idle(ctx context.Context, patient bool) (resume func()) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return func() {}
	}
	p := r.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.done || r.idle {
		return func() {}
	}
	r.idle, r.patient = true, patient
	p.idling++
	p.passTurnLocked(r)
	var next *request
	if p.inline == r {
		p.detachLocked(r, false)
		go func() {
			defer p.wg.Done()
			p.read()
		}()
	} else if r.hasSlot {
		r.hasSlot = false
		p.running--
		next = p.dequeueLocked()
	}
	if next != nil {
		p.wg.Go(func() { p.work(next) })
	}
	if p.closing && !patient {
		r.cancelLocked(ErrClosed)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.done || !r.idle {
			return
		}
		r.idle = false
		p.idling--
		if !r.hasSlot {
			r.hasSlot = true
			p.running++
		}
	}
}
