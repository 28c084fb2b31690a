package jsonrpc

import "context"

// A batch collects the responses to the requests of one incoming batch.
type batch struct {
	// Guarded by the peer's mu.
	pending   int // responses to come, plus one until all elements are dispatched
	responses []Element
}

// handleBatch dispatches the messages of a batch, each request in its own
// goroutine. It reports whether this goroutine is still the reader.
func (p *Peer) handleBatch(elements []Element) bool {
	if p.o.Batches == nil || !p.o.Batches() {
		return p.handleMalformed(&Malformed{Err: Errorf(CodeInvalidRequest, "batches are not supported")})
	}
	b := &batch{pending: 1}
	ids := map[ID]bool{}
	for _, e := range elements {
		switch m := e.Message; {
		case m == nil && e.Malformed.Silent:
			p.handleMalformed(e.Malformed)
		case m == nil:
			p.reportRefused(e.Malformed)
			b.expect(p)
			p.reply(&request{batch: b}, &Message{ID: e.Malformed.ID, Error: e.Malformed.Err})
		case m.IsResponse():
			p.handleResponse(m)
		case m.IsNotification() && p.urgent(m.Method):
			p.notified(p.baseCtx, m)
		case m.IsNotification():
			p.enqueueNotification(m)
		case ids[m.ID]:
			b.expect(p)
			p.reply(&request{batch: b}, &Message{Error: Errorf(CodeInvalidRequest, "duplicate id %s in the batch", m.ID)})
		default:
			ids[m.ID] = true
			b.expect(p)
			p.spawn(m, b)
		}
	}
	return p.runInline(func() { b.done(p, nil) })
}

// spawn handles a request of a batch in its own goroutine, or queues it.
func (p *Peer) spawn(m *Message, b *batch) {
	urgent, ordered := p.urgent(m.Method), p.ordered(m)
	p.mu.Lock()
	r, refusal := p.admitLocked(m, urgent, ordered)
	if r == nil {
		p.mu.Unlock()
		p.reply(&request{batch: b}, refusal)
		return
	}
	defer p.mu.Unlock()
	r.batch = b
	if !urgent && !p.takeTurnLocked(r) {
		return
	}
	if p.running >= p.o.InFlight && !urgent {
		p.enqueueLocked(r)
		return
	}
	p.registerLocked(r, true)
	p.wg.Go(func() { p.work(r) })
}

// expect counts one more response to come.
func (b *batch) expect(p *Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.pending++
}

// done adds a response, or nil for none, and sends the batch if it was the
// last.
func (b *batch) done(p *Peer, m *Message) {
	p.mu.Lock()
	if m != nil {
		b.responses = append(b.responses, Element{Message: m})
	}
	b.pending--
	last := b.pending == 0 && len(b.responses) > 0
	p.mu.Unlock()
	if last {
		_ = p.send(context.Background(), Packet{Batch: b.responses})
	}
}
