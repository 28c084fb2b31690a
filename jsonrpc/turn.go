package jsonrpc

// Ordered requests take turns. One has the turn from its arrival, or from the moment when
// the one before gave it up, until its handler returns or waits. Those that arrive meanwhile
// are kept in order of arrival.

// takeTurnLocked reports whether r may be handled now. If not, it will be handled when it has
// the turn.
func (p *Peer) takeTurnLocked(r *request) bool {
	switch {
	case !r.ordered:
		return true
	case p.turn == nil:
		p.turn = r
		return true
	}
	p.registerLocked(r, false)
	p.turns = append(p.turns, r)
	p.queuedBytes += len(r.m.Params)
	return false
}

// passTurnLocked gives the turn of r, if it has it, to the next ordered request, and starts
// that one. The caller's goroutine is one of p.wg.
func (p *Peer) passTurnLocked(r *request) {
	if p.turn != r {
		return
	}
	p.turn = nil
	if len(p.turns) == 0 {
		return
	}
	next := p.turns[0]
	p.turns[0] = nil
	p.turns = p.turns[1:]
	p.queuedBytes -= len(next.m.Params)
	p.turn = next
	if p.running >= p.o.InFlight {
		p.enqueueLocked(next)
		return
	}
	next.hasSlot = true
	p.running++
	p.wg.Go(func() { p.work(next) })
}

func (p *Peer) passTurn(r *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passTurnLocked(r)
}
