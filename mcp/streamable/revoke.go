package streamable

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	lookForRevoked = 400 * time.Millisecond
	revokedGrace   = 300 * time.Millisecond // what a call gets to end by itself
)

// errRevoked is a kind of context.Canceled, as errGone is.
var errRevoked = fmt.Errorf("streamable: the principal may do nothing more: %w", context.Canceled)

// revocable is what is under way for principals that may be revoked. It looks at
// all of them from time to time: a goroutine that waits for each would take more
// memory than the rest of an idle stream.
type revocable struct {
	mu      sync.Mutex
	first   *underWay
	timer   *time.Timer
	running bool // the timer
}

// An underWay is a call, or a stream, in a list.
type underWay struct {
	revoked    <-chan struct{}
	end        func()
	prev, next *underWay
}

// add takes note of something that ends when revoked is closed, until the caller
// calls done.
func (v *revocable) add(revoked <-chan struct{}, end func()) (done func()) {
	u := &underWay{revoked: revoked, end: end}
	v.mu.Lock()
	defer v.mu.Unlock()
	if u.next = v.first; u.next != nil {
		u.next.prev = u
	}
	v.first = u
	v.runLocked()
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.removeLocked(u)
	}
}

// removeLocked takes something out of the list, once.
func (v *revocable) removeLocked(u *underWay) {
	switch {
	case u.prev != nil:
		u.prev.next = u.next
	case v.first == u:
		v.first = u.next
	default:
		return // it was taken out before
	}
	if u.next != nil {
		u.next.prev = u.prev
	}
	u.prev, u.next = nil, nil
}

// runLocked has the timer run. It is not stopped when the list becomes empty: the
// next call comes soon.
func (v *revocable) runLocked() {
	if v.running {
		return
	}
	v.running = true
	if v.timer == nil {
		v.timer = time.AfterFunc(lookForRevoked, v.look)
		return
	}
	v.timer.Reset(lookForRevoked)
}

// look ends what belongs to those who have been revoked.
func (v *revocable) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running = false
	for u := v.first; u != nil; {
		next := u.next
		select {
		case <-u.revoked:
			v.removeLocked(u)
			go u.end() // it may wait for a client that does not read
		default:
		}
		u = next
	}
	if v.first != nil {
		v.runLocked()
	}
}

// unlessRevoked is the context of a call that ends also when its principal is
// revoked. The caller calls done when the call is over.
func (h *Handler) unlessRevoked(ctx context.Context, revoked <-chan struct{}, x *exchange) (_ context.Context, done func()) {
	c := &call{detached: detached{ctx, ctx}}
	stop := h.revocable.add(revoked, func() { x.revoke(c) })
	return c, func() {
		stop()
		c.cancel(context.Canceled)
	}
}

// revoke ends a call: it is cancelled, and if that is not enough, cut off.
func (x *exchange) revoke(c *call) {
	c.cancel(errRevoked)
	time.AfterFunc(revokedGrace, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.done && x.stream != nil {
			x.stream.cut()
		}
	})
}
