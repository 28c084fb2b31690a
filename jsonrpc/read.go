package jsonrpc

import (
	"errors"
	"time"
)

// The path of a message through a Peer:
//
//	        the other end
//	   writes |      ^ reads
//	          v      |
//	+- Transport ----+-------------------------------------------------+
//	|  Receive            Send; buffer and flush, if it can buffer     |
//	+----+---------------------------------------------------^---------+
//	     | one line, one POST, ...                           |
//	     v                                                   |
//	 Decode: one scan checks that the text is JSON within    |
//	 the limits, and finds id, method, params, ...           |
//	     |                                                   |
//	     +- Malformed ----- reported to Refused -- error --->+
//	     |                                                   |
//	     +- response ------+                                 |
//	     |                 +-> in order of arrival:          |
//	     +- notification --+   Notified, or the waiting Call |
//	     |                                                   |
//	     +- request --+- Urgent: before the next read ------>+
//	     |            |                                      |
//	     |            +- handled by the reading goroutine;   |
//	     |            |  after a millisecond, another ------>+
//	     |            |  goroutine takes over reading        |
//	     |            |                                      |
//	     |            +- soon after a slow request: -------->+
//	     |            |  in its own goroutine                |
//	     |            |                                      |
//	     |            +- Ordered: when the ordered one ----->+
//	     |            |  before it has returned or waits     |
//	     |            |                                      |
//	     |            +- InFlight reached: waits in the ---->+
//	     |               queue; queue full: "busy"           |
//	     |                                                   |
//	     +- batch ----- each request in its own goroutine; ->+
//	                    one batch of responses at the end
//
// A request is handled by the goroutine that read it. Most handlers return within
// microseconds, and waking another goroutine would cost more. So that a slow
// handler does not keep the peer from reading, a timer watches: after one to two
// milliseconds the timer's goroutine takes over reading, and the handler continues
// on its own. The next few requests then start in their own goroutines, because
// slow requests tend to come together. The same applies to everything the reading
// goroutine writes: two peers that both wait for the other to read would
// deadlock.
//
// While more input is available, responses are buffered. They are written
// together when there is nothing more to read, or enough to write.

const (
	// takeOverAfter is how long the reading goroutine may be busy before
	// another goroutine takes over reading.
	takeOverAfter = time.Millisecond
	// maxOwnGoroutine limits how many requests after a slow one start in their
	// own goroutine. The number begins at 4 and doubles while slow requests
	// keep coming.
	maxOwnGoroutine = 256
	// maxWriting limits how many goroutines may be writing responses while
	// another one reads. Beyond it, reading stops until the other end reads
	// too.
	maxWriting = 64
)

// read receives and dispatches packets, until there are no more or another
// goroutine takes over reading.
//
// Requests are handled on the reading goroutine. Most take microseconds, and
// waking another goroutine would cost more. If one takes longer than
// takeOverAfter, the watchdog's goroutine takes over reading.
func (p *Peer) read() {
	for {
		if p.needFlush && !p.buffered.ready() {
			p.needFlush = false
			if !p.runInline(p.flush) {
				return
			}
		}
		pk, err := p.t.Receive(p.baseCtx)
		more := p.buffered != nil && p.buffered.ready()
		switch bad, _ := errors.AsType[*Malformed](err); {
		case bad != nil:
			if !p.handleMalformed(bad) {
				return
			}
		case err != nil:
			p.fail(err)
			return
		case pk.Batch != nil:
			if !p.handleBatch(pk.Batch) {
				return
			}
		case !p.handleMessage(pk.Message, more):
			return
		}
	}
}

// runInline runs f, which may block on a write, on the reading goroutine. As
// with a handler, another goroutine takes over reading if f takes longer than
// takeOverAfter; otherwise two peers that both wait for the other to read would
// deadlock. It reports whether this goroutine is still the reader.
func (p *Peer) runInline(f func()) bool {
	r := &request{m: &Message{}, peer: p}
	p.mu.Lock()
	p.markWritingLocked(r)
	p.setInlineLocked(r)
	p.active++
	p.mu.Unlock()
	f()
	return p.finishInline(r)
}

func (p *Peer) flush() {
	if err := p.buffered.flush(); err != nil {
		p.fail(err)
	}
}

// handleMalformed reports malformed input and sends an error response where one
// is due. It reports whether this goroutine is still the reader.
func (p *Peer) handleMalformed(bad *Malformed) bool {
	p.reportRefused(bad)
	if (bad.Silent || bad.bare) && p.deliver(bad.ID, outcome{err: bad}) || bad.Silent || p.o.Reserved && bad.ID.IsZero() {
		return true
	}
	return p.runInline(func() { p.reply(nil, &Message{ID: bad.ID, Error: bad.Err}) })
}

// handleMessage dispatches a message. It reports whether this goroutine is
// still the reader.
func (p *Peer) handleMessage(m *Message, more bool) bool {
	switch {
	case m.IsResponse():
		p.handleResponse(m)
		return true
	case m.IsNotification():
		return p.handleNotification(m)
	}
	urgent, ordered := p.urgent(m.Method), p.ordered(m)
	p.mu.Lock()
	r, refusal := p.admitLocked(m, urgent, ordered)
	switch {
	case r == nil:
		p.mu.Unlock()
		return p.runInline(func() { p.reply(nil, refusal) })
	case urgent:
		p.mu.Unlock()
		response := p.respond(r)
		return p.runInline(func() {
			p.reply(r, response)
			p.finish(r)
		})
	case !p.takeTurnLocked(r):
		p.mu.Unlock()
		return true
	case p.running >= p.o.InFlight:
		p.enqueueLocked(r)
		p.mu.Unlock()
		return true
	case p.ownGoroutine > 0 && p.writing < maxWriting:
		p.ownGoroutine--
		p.registerLocked(r, true)
		p.mu.Unlock()
		p.wg.Go(func() { p.work(r) })
		return true
	}
	p.setInlineLocked(r)
	p.mu.Unlock()
	r.moreInput = more
	p.serve(r)
	if !p.finishInline(r) {
		return false
	}
	p.ownGoroutineWindow /= 2
	return true
}

func (p *Peer) urgent(method string) bool { return p.o.Urgent != nil && p.o.Urgent(method) }

func (p *Peer) ordered(m *Message) bool { return p.o.Ordered != nil && p.o.Ordered(m) }

// takeOver is the watchdog's tick. If the reading goroutine is busy for too
// long, this goroutine becomes the reader.
func (p *Peer) takeOver() {
	p.mu.Lock()
	if !p.watchdog.lateLocked() {
		p.mu.Unlock()
		return
	}
	r := p.inline
	if r.writing && p.writing > maxWriting {
		p.mu.Unlock()
		return
	}
	p.detachLocked(r, !r.m.ID.IsZero())
	p.mu.Unlock()
	defer p.wg.Done()
	p.ownGoroutineWindow = min(max(2*p.ownGoroutineWindow, 4), maxOwnGoroutine)
	p.ownGoroutine = p.ownGoroutineWindow
	p.read()
}

// setInlineLocked notes that the reading goroutine is busy with r.
func (p *Peer) setInlineLocked(r *request) {
	p.inline = r
	p.watchdog.beginLocked()
}

// detachLocked makes the goroutine that handles r stop being the reader. The
// caller's goroutine, or one that it starts, must read from now on.
func (p *Peer) detachLocked(r *request, takeSlot bool) {
	p.inline = nil
	p.watchdog.endLocked()
	p.registerLocked(r, takeSlot)
	p.wg.Add(1) // the goroutine of r is still counted, so the count is not zero
}

// finishInline finishes a request handled on the reading goroutine. It reports
// whether this goroutine is still the reader.
func (p *Peer) finishInline(r *request) bool {
	p.mu.Lock()
	if p.inline == r {
		p.inline = nil
		p.watchdog.endLocked()
		p.finishLocked(r)
		p.mu.Unlock()
		p.needFlush = p.needFlush || r.buffered
		return true
	}
	p.mu.Unlock()
	if r.buffered {
		p.flush()
	}
	p.finishAndNext(r)
	return false
}
