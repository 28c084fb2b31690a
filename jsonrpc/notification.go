package jsonrpc

import (
	"context"
	"errors"
	"runtime/debug"
)

// Notifications are handled one at a time. While one is being handled, further
// ones and the responses that arrive after them wait in p.notifyQueue. It is
// almost always empty and then costs nothing.

// Limits on the notifications waiting for a slow handler. More are dropped.
const (
	maxNotifyQueue = 4096
	maxNotifyBytes = 16 << 20
)

// A queuedItem is an entry of p.notifyQueue: a notification or a response.
type queuedItem struct {
	run      func()
	bytes    int  // size of a notification's params
	response bool // a response, whose run delivers it to the caller
}

// handleNotification handles a notification after those before it. It reports
// whether this goroutine is still the reader.
func (p *Peer) handleNotification(n *Message) bool {
	if p.urgent(n.Method) {
		p.notified(p.baseCtx, n)
		return true
	}
	p.mu.Lock()
	if p.notifyBusy {
		p.mu.Unlock()
		p.enqueueNotification(n)
		return true
	}
	p.notifyBusy = true
	p.mu.Unlock()
	return p.runInline(func() {
		p.notified(p.baseCtx, n)
		p.runQueue()
	})
}

// enqueueNotification queues a notification, to be handled by another
// goroutine.
func (p *Peer) enqueueNotification(n *Message) {
	size := len(n.Params)
	p.mu.Lock()
	if len(p.notifyQueue) >= maxNotifyQueue || p.notifyBytes+size > maxNotifyBytes && p.notifyBytes > 0 {
		p.mu.Unlock()
		p.reportRefused(errors.New("notification " + n.Method + " dropped: queue full"))
		return
	}
	defer p.mu.Unlock()
	p.notifyQueue = append(p.notifyQueue, queuedItem{run: func() { p.notified(p.baseCtx, n) }, bytes: size})
	p.notifyBytes += size
	if !p.notifyBusy {
		p.notifyBusy = true
		p.active++
		p.wg.Go(func() {
			p.runQueue()
			p.mu.Lock()
			defer p.mu.Unlock()
			p.active--
			p.checkDrainedLocked()
		})
	}
}

// runQueue runs the queued items until there are none.
func (p *Peer) runQueue() {
	for {
		p.mu.Lock()
		if len(p.notifyQueue) == 0 {
			p.notifyBusy = false
			p.notifyQueue = nil
			p.mu.Unlock()
			return
		}
		next := p.notifyQueue[0]
		p.notifyQueue[0] = queuedItem{} // let the garbage collector free it
		p.notifyQueue = p.notifyQueue[1:]
		p.notifyBytes -= next.bytes
		last := next.response && len(p.notifyQueue) == 0
		if last {
			// A call that its caller makes at once is not one of a handler's.
			p.notifyBusy = false
			p.notifyQueue = nil
		}
		p.mu.Unlock()
		next.run()
		if last {
			return
		}
	}
}

func (p *Peer) notified(ctx context.Context, n *Message) {
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
