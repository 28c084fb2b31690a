package mcp

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A callbackQueue runs the program's callbacks one at a time, in order of
// arrival, on a transport where each request has its own stream. On a pipe the
// peer does.
type callbackQueue struct {
	mu      sync.Mutex
	running bool
	waiting []chan struct{} // each is closed when its turn comes
}

// maxCallbacks limits the callbacks that wait and that no stream waits for.
// More are dropped.
const maxCallbacks = 4096

// runner returns a function that runs the callbacks of a request that is about
// to be sent. The function waits for the callback, and so the response does,
// unless another callback is running now: that one may have sent the request.
func (q *callbackQueue) runner(c *Client, ctx context.Context) (run func(func())) {
	q.mu.Lock()
	bypass := q.running
	q.mu.Unlock()
	return func(f func()) { q.run(c, ctx, f, !bypass) }
}

func (q *callbackQueue) run(c *Client, ctx context.Context, f func(), wait bool) {
	q.mu.Lock()
	if !q.running {
		q.running = true
		q.mu.Unlock()
		q.finish(c, f)
		return
	}
	if !wait && len(q.waiting) >= maxCallbacks {
		q.mu.Unlock()
		c.reportRefused(errors.New("notification dropped: queue full"))
		return
	}
	turn := make(chan struct{})
	q.waiting = append(q.waiting, turn)
	q.mu.Unlock()
	if wait {
		select {
		case <-turn:
			q.finish(c, f)
			return
		case <-ctx.Done(): // the caller is not kept any longer
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		q.leave(c, turn)
		return
	}
	c.wg.Go(func() {
		<-turn
		q.finish(c, f)
	})
}

// leave gives up a turn.
func (q *callbackQueue) leave(c *Client, turn chan struct{}) {
	q.mu.Lock()
	i := slices.Index(q.waiting, turn)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 { // it has come
		q.finish(c, func() {})
	}
}

// finish runs a callback and then gives the turn to the next one.
func (q *callbackQueue) finish(c *Client, f func()) {
	defer func() {
		if v := recover(); v != nil {
			c.logPanic("callback", v, debug.Stack())
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.running = len(q.waiting) > 0; q.running {
			close(q.waiting[0])
			q.waiting = q.waiting[1:]
		}
	}()
	f()
}

// handlePeerNotification handles a notification that the peer has received. On
// a pipe the peer handles one at a time.
func (c *Client) handlePeerNotification(ctx context.Context, n *jsonrpc.Message) {
	run := func(f func()) { f() }
	if c.exchanger != nil {
		run = func(f func()) { c.callbacks.run(c, ctx, f, true) }
	}
	c.handleNotification(ctx, n, nil, run)
}
