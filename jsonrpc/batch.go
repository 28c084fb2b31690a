package jsonrpc

import "context"

// A batch gathers the answers to the requests that came in one.
type batch struct {
	// Guarded by the peer's mu.
	left    int // answers to come, and one until all have been handed out
	answers []Element
}

// readBatch sees to the messages of a batch, each in a goroutine of its own. It
// reports whether this goroutine still reads.
func (p *Peer) readBatch(elements []Element) bool {
	if p.o.Batches == nil || !p.o.Batches() {
		return p.malformed(&Malformed{Err: Errorf(CodeInvalidRequest, "batches are not spoken here")})
	}
	b := &batch{left: 1}
	ids := map[ID]bool{}
	for _, e := range elements {
		switch m := e.Message; {
		case m == nil && e.Malformed.Silent:
			p.malformed(e.Malformed)
		case m == nil:
			p.refused(e.Malformed)
			b.expect(p)
			p.reply(&request{batch: b}, &Message{ID: e.Malformed.ID, Error: e.Malformed.Err})
		case m.IsResponse():
			p.answered(m)
		case m.IsNotification() && p.urgent(m.Method):
			p.tell(p.laneCtx, m)
		case m.IsNotification():
			p.enqueue(m)
		case ids[m.ID]:
			b.expect(p)
			p.reply(&request{batch: b}, &Message{Error: Errorf(CodeInvalidRequest, "id %s stands twice in the batch", m.ID)})
		default:
			ids[m.ID] = true
			b.expect(p)
			p.spawn(m, b)
		}
	}
	return p.apart(func() { b.done(p, nil) })
}

// spawn handles a request in a goroutine of its own, when it has a place.
func (p *Peer) spawn(m *Message, b *batch) {
	urgent := p.urgent(m.Method)
	p.mu.Lock()
	r, no := p.admitLocked(m, urgent)
	if r == nil {
		p.mu.Unlock()
		p.reply(&request{batch: b}, no)
		return
	}
	defer p.mu.Unlock()
	r.batch = b
	if p.running >= p.o.InFlight && !urgent {
		p.waitLocked(r)
		return
	}
	p.registerLocked(r, true)
	p.wg.Go(func() { p.work(r) })
}

// expect counts an answer to come.
func (b *batch) expect(p *Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.left++
}

// done takes an answer, or nil for none, and sends them all when it is the last.
func (b *batch) done(p *Peer, m *Message) {
	p.mu.Lock()
	if m != nil {
		b.answers = append(b.answers, Element{Message: m})
	}
	b.left--
	last := b.left == 0 && len(b.answers) > 0
	p.mu.Unlock()
	if last {
		_ = p.send(context.Background(), Packet{Batch: b.answers})
	}
}
