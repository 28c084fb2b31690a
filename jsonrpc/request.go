package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"time"
)

const (
	// patience is how long the reading goroutine may be busy before another
	// takes over the reading.
	patience = time.Millisecond
	// maxWary is how many requests after a slow one get goroutines of their own
	// from the start, at most. It begins with a few and doubles as long as slow
	// ones keep coming.
	maxWary = 256
	// maxWriting is how many goroutines may wait to write while another reads.
	// With more, nothing is read until the other side reads, too.
	maxWriting = 64
	// maxIdle is how many requests may be Idle at a time; then new ones are
	// refused.
	maxIdle = 1024
	// maxQueued is how many bytes of params may wait for a place.
	maxQueued = 16 << 20
)

// A request is a message of the other side's being handled. It is the context
// of its handler.
type request struct {
	m     *Message
	peer  *Peer
	batch *batch

	more bool // another message is at hand, so the answer may be held back
	held bool // the answer was held back

	// Guarded by peer.mu.
	counts bool // it has one of the places in flight
	idle   bool // it only waits for the other side
	done   bool // it is over
	writes bool // it has been handled, and writes
	gone   bool // the other side has cancelled it
	told   bool // its answer is on the way: the id is free to be used again

	// The context proper is made when somebody looks at it: most handlers are
	// done before they would.
	ctx    context.Context
	end    context.CancelCauseFunc
	reason error // given to cancel before there was a context
}

var _ context.Context = (*request)(nil)

func (r *request) context() context.Context {
	r.peer.mu.Lock()
	defer r.peer.mu.Unlock()
	if r.ctx == nil {
		r.ctx, r.end = context.WithCancelCause(r.peer.base)
		if r.reason != nil {
			r.end(r.reason)
		}
	}
	return r.ctx
}

// cancelLocked ends the context. The first reason is the one that counts.
func (r *request) cancelLocked(reason error) {
	if r.reason == nil {
		r.reason = reason
	}
	if r.end != nil {
		r.end(reason)
	}
}

func (r *request) Deadline() (time.Time, bool) { return r.peer.base.Deadline() }
func (r *request) Done() <-chan struct{}       { return r.context().Done() }

func (r *request) Err() error {
	r.peer.mu.Lock()
	untouched := r.ctx == nil && r.reason == nil
	r.peer.mu.Unlock()
	if untouched {
		return r.peer.base.Err()
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

// read receives packets and sees to each, until there are no more or another
// goroutine has taken over the reading.
//
// A request is handled by the goroutine that has read it: most are done in
// microseconds, and waking another goroutine costs more than that. One that
// takes longer than patience loses the reading to the timer's goroutine.
func (p *Peer) read() {
	for {
		if p.holding && !p.held.ready() {
			p.holding = false
			if !p.apart(p.flush) {
				return
			}
		}
		pk, err := p.t.Receive(p.base)
		more := p.held != nil && p.held.ready()
		switch bad, _ := errors.AsType[*Malformed](err); {
		case bad != nil:
			if !p.malformed(bad) {
				return
			}
		case err != nil:
			p.broken(err)
			return
		case pk.Batch != nil:
			if !p.readBatch(pk.Batch) {
				return
			}
		case !p.message(pk.Message, more):
			return
		}
	}
}

// apart does something that may have to wait for the other side to read, such as
// writing. Like a handler, it loses the reading if it takes longer than patience:
// two peers that both wait for the other to read would wait for ever. It reports
// whether this goroutine still reads.
func (p *Peer) apart(f func()) bool {
	r := &request{m: &Message{}, peer: p}
	p.mu.Lock()
	p.writesLocked(r)
	p.enterLocked(r)
	p.active++
	p.mu.Unlock()
	f()
	return p.leaveInline(r)
}

func (p *Peer) flush() {
	if err := p.held.flush(); err != nil {
		p.broken(err)
	}
}

// malformed answers bytes that are no message, where an answer is due. It
// reports whether this goroutine still reads.
func (p *Peer) malformed(bad *Malformed) bool {
	p.refused(bad)
	if (bad.Silent || bad.bare) && p.deliver(bad.ID, answer{err: bad}) || bad.Silent || p.o.Reserved && bad.ID.IsZero() {
		return true
	}
	return p.apart(func() { p.reply(nil, &Message{ID: bad.ID, Error: bad.Err}) })
}

// message sees to one message. It reports whether this goroutine still reads.
func (p *Peer) message(m *Message, more bool) bool {
	switch {
	case m.IsResponse():
		p.answered(m)
		return true
	case m.IsNotification():
		return p.notified(m)
	}
	urgent := p.urgent(m.Method)
	p.mu.Lock()
	r, no := p.admitLocked(m, urgent)
	switch {
	case r == nil:
		p.mu.Unlock()
		return p.apart(func() { p.reply(nil, no) })
	case urgent:
		p.mu.Unlock()
		a := p.answer(r)
		return p.apart(func() {
			p.reply(r, a)
			p.finish(r)
		})
	case p.running >= p.o.InFlight:
		p.waitLocked(r)
		p.mu.Unlock()
		return true
	case p.slow > 0 && p.writing < maxWriting:
		p.slow--
		p.registerLocked(r, true)
		p.mu.Unlock()
		p.wg.Go(func() { p.work(r) })
		return true
	}
	p.enterLocked(r)
	p.mu.Unlock()
	r.more = more
	p.serve(r)
	if !p.leaveInline(r) {
		return false
	}
	p.wary /= 2
	return true
}

func (p *Peer) urgent(method string) bool { return p.o.Urgent != nil && p.o.Urgent(method) }

// admitLocked makes the request of a message, or the answer that refuses it.
func (p *Peer) admitLocked(m *Message, urgent bool) (*request, *Message) {
	var err *Error
	id := m.ID
	switch {
	case p.closing:
		err = Errorf(CodeInternal, "shutting down")
	case p.handling[id] != nil:
		err = Errorf(CodeInvalidRequest, "id %s is still in flight", id)
		id = ID{} // or the answer would be taken for the other request's
	case (len(p.waiting) >= p.o.Queue || p.queued > maxQueued || p.idling >= maxIdle) && !urgent:
		err = Errorf(CodeInternal, "busy: too many requests at once")
	default:
		p.active++
	}
	if err != nil {
		return nil, &Message{ID: id, Error: err}
	}
	return &request{m: m, peer: p}, nil
}

func (p *Peer) registerLocked(r *request, counts bool) {
	if !r.m.ID.IsZero() && !r.told {
		p.handling[r.m.ID] = r
	}
	if counts {
		r.counts = true
		p.running++
	}
}

// waitLocked lets r wait for a place.
func (p *Peer) waitLocked(r *request) {
	p.registerLocked(r, false)
	p.waiting = append(p.waiting, r)
	p.queued += len(r.m.Params)
}

// nextLocked gives a free place to a request that waits for one. Requests wait
// only while every place is taken, and whoever gives one back comes here: so none
// is forgotten.
func (p *Peer) nextLocked() *request {
	if len(p.waiting) == 0 || p.running >= p.o.InFlight {
		return nil
	}
	r := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.queued -= len(r.m.Params)
	r.counts = true
	p.running++
	return r
}

// takeOver runs when the reading goroutine has been busy for too long: from now
// on this goroutine reads.
func (p *Peer) takeOver() {
	p.mu.Lock()
	if !p.dog.lateLocked() {
		p.mu.Unlock()
		return
	}
	r := p.inline
	if r.writes && p.writing > maxWriting {
		p.mu.Unlock()
		return
	}
	p.loseInlineLocked(r, !r.m.ID.IsZero())
	p.mu.Unlock()
	defer p.wg.Done()
	p.wary = min(max(2*p.wary, 4), maxWary)
	p.slow = p.wary
	p.read()
}

// writesLocked: from now on r waits for the other side to read, perhaps.
func (p *Peer) writesLocked(r *request) {
	if !r.writes && r.peer != nil {
		r.writes = true
		p.writing++
	}
}

// enterLocked: from now on the reading goroutine is busy with r.
func (p *Peer) enterLocked(r *request) {
	p.inline = r
	p.dog.beginLocked()
}

// loseInlineLocked takes the reading from the goroutine that handles r; the
// caller's goroutine, or one that it starts, reads from now on.
func (p *Peer) loseInlineLocked(r *request, counts bool) {
	p.inline = nil
	p.dog.endLocked()
	p.registerLocked(r, counts)
	p.wg.Add(1) // while the goroutine that handles r is still counted
}

// leaveInline ends a request that was handled inline, and reports whether this
// goroutine still reads.
func (p *Peer) leaveInline(r *request) bool {
	p.mu.Lock()
	if p.inline == r {
		p.inline = nil
		p.dog.endLocked()
		p.finishLocked(r)
		p.mu.Unlock()
		p.holding = p.holding || r.held
		return true
	}
	p.mu.Unlock()
	if r.held {
		p.flush()
	}
	p.worked(r)
	return false
}

// work handles r, and then requests that wait for a place.
func (p *Peer) work(r *request) {
	p.serve(r)
	p.worked(r)
}

func (p *Peer) worked(r *request) {
	for r = p.finish(r); r != nil; r = p.finish(r) {
		p.serve(r)
	}
}

// finish forgets a request that has been handled, and returns the one whose
// turn it is now, if any.
func (p *Peer) finish(r *request) *request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.finishLocked(r)
}

func (p *Peer) finishLocked(r *request) *request {
	r.cancelLocked(context.Canceled)
	r.done = true
	if r.idle {
		r.idle = false
		p.idling--
	}
	if r.writes {
		r.writes = false
		p.writing--
	}
	if p.handling[r.m.ID] == r {
		delete(p.handling, r.m.ID)
	}
	if r.counts {
		r.counts = false
		p.running--
	}
	next := p.nextLocked()
	p.active--
	p.settleLocked()
	return next
}

// serve handles a request and answers it.
func (p *Peer) serve(r *request) { p.reply(r, p.answer(r)) }

// answer handles a request. There is none if it was cancelled while it waited.
func (p *Peer) answer(r *request) *Message {
	p.mu.Lock()
	gone := r.gone
	p.mu.Unlock()
	if gone {
		return nil
	}
	result, err := p.handle(r)
	m := r.m // becomes the answer to itself
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

func (p *Peer) handle(r *request) (result json.RawMessage, err error) {
	if p.o.Handle == nil {
		return nil, Errorf(CodeMethodNotFound, "method %q not found", r.m.Method)
	}
	defer func() {
		if v := recover(); v != nil {
			if p.o.Panicked != nil {
				p.o.Panicked(r.m, v, debug.Stack())
			}
			err = Errorf(CodeInternal, "internal error")
		}
	}()
	return p.o.Handle(r, r.m)
}

// reply sends the answer to r, unless r was cancelled. A nil r is for what
// belongs to no request; a nil m is no answer.
func (p *Peer) reply(r *request, m *Message) {
	if m != nil && m.ID.IsZero() {
		m.NoID = p.o.NoID != nil && p.o.NoID()
	}
	if r != nil {
		p.mu.Lock()
		if r.gone {
			m = nil
		}
		p.writesLocked(r)
		if r.told = true; r.m != nil && p.handling[r.m.ID] == r {
			delete(p.handling, r.m.ID)
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
	if r != nil && r.more {
		r.held = true
		if err := p.held.hold(One(m)); err != nil {
			p.broken(err)
		}
	} else {
		_ = p.send(context.Background(), One(m))
	}
	if p.o.Sent != nil && m.Result != nil {
		p.o.Sent(m.Result)
	}
}

// Idle tells the peer that the request behind ctx only waits from now on, for
// the other side or for something to happen: it gives up its place among those
// in flight, and ends at once, with cause ErrClosed, when the conversation does.
// The function that Idle returns takes a place again. A context that is not a
// request's is left alone.
func Idle(ctx context.Context) (resume func()) {
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
	r.idle = true
	p.idling++
	var next *request
	if p.inline == r {
		p.loseInlineLocked(r, false)
		go func() {
			defer p.wg.Done()
			p.read()
		}()
	} else if r.counts {
		r.counts = false
		p.running--
		next = p.nextLocked()
	}
	if next != nil {
		p.wg.Go(func() { p.work(next) })
	}
	if p.closing {
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
		if !r.counts {
			r.counts = true
			p.running++
		}
	}
}
