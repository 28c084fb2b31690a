package streamable

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	revokeInterval = 400 * time.Millisecond // how often revoked principals are looked for
	revokedGrace   = 300 * time.Millisecond // how long a cancelled call may take to end
)

// errRevoked wraps context.Canceled, like errClientGone.
var errRevoked = fmt.Errorf("streamable: the principal was revoked: %w", context.Canceled)

// revocations tracks what is in progress for principals that may be revoked. It
// checks all of them periodically, because a goroutine for each would use more
// memory than the rest of an idle stream.
type revocations struct {
	mu      sync.Mutex
	first   *revocableItem
	timer   *time.Timer
	running bool // the timer is set
}

// A revocableItem is a call or a stream, in a linked list.
type revocableItem struct {
	revoked    <-chan struct{}
	end        func()
	prev, next *revocableItem
}

// add registers something that must end when revoked is closed. The caller
// calls done when it has ended.
func (v *revocations) add(revoked <-chan struct{}, end func()) (done func()) {
	u := &revocableItem{revoked: revoked, end: end}
	v.mu.Lock()
	defer v.mu.Unlock()
	if u.next = v.first; u.next != nil {
		u.next.prev = u
	}
	v.first = u
	v.scheduleLocked()
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.removeLocked(u)
	}
}

// removeLocked removes an item from the list, once.
func (v *revocations) removeLocked(u *revocableItem) {
	switch {
	case u.prev != nil:
		u.prev.next = u.next
	case v.first == u:
		v.first = u.next
	default:
		return // already removed
	}
	if u.next != nil {
		u.next.prev = u.prev
	}
	u.prev, u.next = nil, nil
}

// scheduleLocked starts the timer. It is not stopped when the list becomes
// empty, because the next call comes soon.
func (v *revocations) scheduleLocked() {
	if v.running {
		return
	}
	v.running = true
	if v.timer == nil {
		v.timer = time.AfterFunc(revokeInterval, v.check)
		return
	}
	v.timer.Reset(revokeInterval)
}

// check ends the items of revoked principals.
func (v *revocations) check() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running = false
	for u := v.first; u != nil; {
		next := u.next
		select {
		case <-u.revoked:
			v.removeLocked(u)
			go u.end() // it may block on a client that does not read
		default:
		}
		u = next
	}
	if v.first != nil {
		v.scheduleLocked()
	}
}

// revocableContext returns the context of a call that also ends when its
// principal is revoked. The caller calls done when the call has ended.
func (h *Handler) revocableContext(ctx context.Context, revoked <-chan struct{}, x *exchange) (_ context.Context, done func()) {
	c := &call{detached: detached{ctx, ctx}}
	stop := h.revocations.add(revoked, func() { x.revoke(c) })
	return c, func() {
		stop()
		c.cancel(context.Canceled)
	}
}

// revoke cancels a call, and terminates its stream if that is not enough.
func (x *exchange) revoke(c *call) {
	c.cancel(errRevoked)
	time.AfterFunc(revokedGrace, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.done && x.stream != nil {
			x.stream.terminate()
		}
	})
}
