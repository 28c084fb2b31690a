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
	progress func(ProgressParams)

	mu       sync.Mutex
	cancel   context.CancelCauseFunc
	timeout  time.Duration
	deadline time.Time
	timer    *time.Timer
}

func (w *requestTimer) start(rq *clientRequest, cancel context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = cancel
	if w.timeout = rq.timeout; w.timeout == 0 {
		w.timeout = w.client.o.Timeout
	}
	limit := rq.maxTime
	if limit == 0 {
		limit = max(w.client.o.MaxTime, rq.timeout)
	}
	w.deadline = time.Now().Add(limit)
	w.timer = time.AfterFunc(min(w.timeout, limit), w.expire)
}

// extend restarts the timeout, because the server showed activity.
func (w *requestTimer) extend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && w.timer.Stop() {
		w.timer.Reset(max(0, min(w.timeout, time.Until(w.deadline))))
	}
}

// expire cancels the request, unless the server is waiting for this client.
func (w *requestTimer) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := time.Until(w.deadline)
	if w.timer == nil {
		return
	}
	rest := w.timeout - time.Since(time.Unix(0, w.client.lastHandled.Load()))
	if w.client.handling.Load() > 0 {
		rest = w.timeout
	}
	if left > 0 && rest > 0 {
		w.timer.Reset(min(rest, left))
		return
	}
	w.cancel(ErrTimeout)
}

func (w *requestTimer) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.timer = nil
	w.cancel(nil)
}

// trackProgress assigns a progress token to a request.
func (c *Client) trackProgress(w *requestTimer) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastToken++
	token := strconv.FormatInt(c.lastToken, 10)
	c.timers[token] = w
	return token
}

func (c *Client) untrackProgress(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.timers, token)
}
