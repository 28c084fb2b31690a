package mcp

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// A requestTimer limits the time of a request.
type requestTimer struct {
	client   *Client
	progress func(context.Context, Progress)

	mu       sync.Mutex
	cancel   context.CancelCauseFunc
	timeout  time.Duration
	deadline time.Time
	timer    *time.Timer
}

func (t *requestTimer) start(rq *clientRequest, cancel context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel = cancel
	if t.timeout = rq.timeout; t.timeout == 0 {
		t.timeout = t.client.o.Timeout
	}
	limit := rq.maxTime
	if limit == 0 {
		limit = max(t.client.o.MaxTime, rq.timeout)
	}
	t.deadline = time.Now().Add(limit)
	t.timer = time.AfterFunc(min(t.timeout, limit), t.expire)
}

// extend restarts the timeout, because the server showed activity.
func (t *requestTimer) extend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil && t.timer.Stop() {
		t.timer.Reset(max(0, min(t.timeout, time.Until(t.deadline))))
	}
}

// expire cancels the request, unless the server is waiting for this client.
func (t *requestTimer) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := time.Until(t.deadline)
	if t.timer == nil {
		return
	}
	rest := t.timeout - time.Since(time.Unix(0, t.client.lastHandled.Load()))
	if t.client.handling.Load() > 0 {
		rest = t.timeout
	}
	if left > 0 && rest > 0 {
		t.timer.Reset(min(rest, left))
		return
	}
	t.cancel(ErrTimeout)
}

func (t *requestTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.timer = nil
	t.cancel(nil)
}

// trackProgress assigns a progress token to a request.
func (c *Client) trackProgress(t *requestTimer) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastToken++
	token := strconv.FormatInt(c.lastToken, 10)
	c.timers[token] = t
	return token
}

func (c *Client) untrackProgress(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.timers, token)
}
