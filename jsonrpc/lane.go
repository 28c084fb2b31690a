package jsonrpc

import (
	"context"
	"errors"
	"runtime/debug"
)

// The lane keeps what must stay in order: notifications, and the responses that
// come behind one that is still being handled. It is empty nearly always, and
// then costs nothing.

// So many notifications, and bytes of them, may wait for a slow handler; more are
// dropped.
const (
	maxLane      = 4096
	maxLaneBytes = 16 << 20
)

// A turn is what waits in the lane.
type turn struct {
	take  func()
	bytes int // of a notification's params
}

// laneKey marks the context of a notification's handler, so that the answer to
// a call it makes does not wait for the handler itself.
type laneKey struct{}

// notified handles a notification in its turn. It reports whether this
// goroutine still reads.
func (p *Peer) notified(n *Message) bool {
	if p.urgent(n.Method) {
		p.tell(p.laneCtx, n)
		return true
	}
	p.mu.Lock()
	if p.laneBusy {
		p.mu.Unlock()
		p.enqueue(n)
		return true
	}
	p.laneBusy = true
	p.mu.Unlock()
	return p.apart(func() {
		p.tell(p.laneCtx, n)
		p.drain()
	})
}

// enqueue handles a notification in its turn, in another goroutine.
func (p *Peer) enqueue(n *Message) {
	size := len(n.Params)
	p.mu.Lock()
	if len(p.lane) >= maxLane || p.laneBytes+size > maxLaneBytes && p.laneBytes > 0 {
		p.mu.Unlock()
		p.refused(errors.New("notification " + n.Method + " dropped: the ones before it are not done"))
		return
	}
	defer p.mu.Unlock()
	p.lane = append(p.lane, turn{func() { p.tell(p.laneCtx, n) }, size})
	p.laneBytes += size
	if !p.laneBusy {
		p.laneBusy = true
		p.active++
		p.wg.Go(func() {
			p.drain()
			p.mu.Lock()
			defer p.mu.Unlock()
			p.active--
			p.settleLocked()
		})
	}
}

// drain empties the lane.
func (p *Peer) drain() {
	for {
		p.mu.Lock()
		if len(p.lane) == 0 {
			p.laneBusy = false
			p.lane = nil
			p.mu.Unlock()
			return
		}
		next := p.lane[0]
		p.lane[0] = turn{} // what it held may go
		p.lane = p.lane[1:]
		p.laneBytes -= next.bytes
		p.mu.Unlock()
		next.take()
	}
}

func (p *Peer) tell(ctx context.Context, n *Message) {
	if p.o.Notified == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil && p.o.Panicked != nil {
			p.o.Panicked(n, v, debug.Stack())
		}
	}()
	p.o.Notified(ctx, n)
}
