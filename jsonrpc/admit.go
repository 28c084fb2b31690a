package jsonrpc

import "context"

const (
	// maxIdle limits the idle requests; beyond it, new requests are refused.
	maxIdle = 1024
	// maxQueuedBytes limits the size of the params of queued requests.
	maxQueuedBytes = 16 << 20
)

// admitLocked returns a new request for m, or the error response that refuses
// it.
func (p *Peer) admitLocked(m *Message, urgent, ordered bool) (*request, *Message) {
	var err *Error
	id := m.ID
	switch {
	case p.closing:
		err = Errorf(CodeInternal, "shutting down")
	case p.inFlight[id] != nil:
		err = Errorf(CodeInvalidRequest, "id %s is still in flight", id)
		id = ID{} // the response would otherwise match the other request
	case (max(len(p.queue), len(p.turns)) >= p.o.Queue || p.queuedBytes > maxQueuedBytes || p.idling >= maxIdle) && !urgent:
		err = Errorf(CodeInternal, "busy: too many requests at once")
	default:
		p.active++
	}
	if err != nil {
		return nil, &Message{ID: id, Error: err}
	}
	return &request{m: m, peer: p, ordered: ordered}, nil
}

// registerLocked makes r cancellable by its id, and gives it a slot if it takes
// one.
func (p *Peer) registerLocked(r *request, takeSlot bool) {
	if !r.m.ID.IsZero() && !r.replied {
		p.inFlight[r.m.ID] = r
	}
	if takeSlot {
		r.hasSlot = true
		p.running++
	}
}

// enqueueLocked queues r until a slot is free.
func (p *Peer) enqueueLocked(r *request) {
	p.registerLocked(r, false)
	p.queue = append(p.queue, r)
	p.queuedBytes += len(r.m.Params)
}

// dequeueLocked gives a free slot to the first queued request and returns it.
// Requests are queued only while all slots are taken, and everyone who frees a
// slot calls dequeueLocked, so that no request is left behind.
func (p *Peer) dequeueLocked() *request {
	if len(p.queue) == 0 || p.running >= p.o.InFlight {
		return nil
	}
	r := p.queue[0]
	p.queue = p.queue[1:]
	p.queuedBytes -= len(r.m.Params)
	r.hasSlot = true
	p.running++
	return r
}

// work handles r, and then queued requests while it gets slots for them.
func (p *Peer) work(r *request) {
	p.serve(r)
	p.finishAndNext(r)
}

// finishAndNext finishes r, and then handles queued requests.
func (p *Peer) finishAndNext(r *request) {
	for r = p.finish(r); r != nil; r = p.finish(r) {
		p.serve(r)
	}
}

// finish removes a request that was handled, and returns the next queued one if
// there is a free slot for it.
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
	if r.finish {
		r.finish = false
		p.finishing--
	}
	if r.writing {
		r.writing = false
		p.writing--
	}
	if p.inFlight[r.m.ID] == r {
		delete(p.inFlight, r.m.ID)
	}
	if r.hasSlot {
		r.hasSlot = false
		p.running--
	}
	next := p.dequeueLocked()
	p.active--
	p.checkDrainedLocked()
	return next
}

// markWritingLocked counts r as writing: it may block until the other end
// reads.
func (p *Peer) markWritingLocked(r *request) {
	if !r.writing && r.peer != nil {
		r.writing = true
		p.writing++
	}
}
