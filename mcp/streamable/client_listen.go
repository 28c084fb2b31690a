package streamable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// openTimeout is how long to wait for the stream for messages that belong to no
// request. Some servers send requests there, and lose them if it is not open.
const openTimeout = 3 * time.Second

// startListening opens that stream, once.
func (c *clientTransport) startListening(ctx context.Context) {
	c.mu.Lock()
	if c.listening || c.closed {
		c.mu.Unlock()
		return
	}
	c.listening = true
	opened := make(chan struct{})
	c.wg.Go(func() { c.listen(sync.OnceFunc(func() { close(opened) })) })
	c.mu.Unlock()
	timer := time.NewTimer(openTimeout)
	defer timer.Stop()
	select {
	case <-opened:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// listen keeps that stream open as long as the server supports it. It calls
// opened when the outcome of the first attempt is known.
func (c *clientTransport) listen(opened func()) {
	defer opened()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listening = false
	}()
	events := newEventReader(nil, c.limits.Bytes)
	wait := events.retry
	broke, renewed := false, false
	for failures := 0; failures < maxResumes; {
		session := c.sessionID()
		res, err := c.get(c.baseCtx, events.id, nil)
		opened()
		status, refused := errors.AsType[*mcp.StatusError](err)
		refused = refused && status.Code < 500
		switch {
		case err == nil:
			if broke && !renewed { // a new session reports all events again
				c.reportGap(transport.GapReconnected)
			}
			events.reset(res.Body)
			for e, err := events.next(); err == nil; e, err = events.next() {
				if len(e.data) > 0 {
					c.decodeMessages(e.data, c.deliver)
				}
			}
			_ = res.Body.Close()
			broke, renewed, failures, wait = true, false, 0, events.retry
		case refused && !broke:
			return // the server has no such stream
		default:
			if refused { // the session may be lost
				events.id = ""
				if c.sessionID() == session {
					c.reportGap(transport.GapSessionLost)
				}
				renewed = c.sessionID() != session
			}
			failures++
			if !refused || !renewed {
				wait = min(2*wait, maxRetry)
			}
		}
		if sleep(c.baseCtx, wait) != nil {
			return
		}
	}
	c.log.Warn("giving up listening to the server", "server", c.ServerName())
	c.reportGap(transport.GapFinal)
}

// OnGap sets the function to call when messages that belong to no request may
// have been lost.
func (c *clientTransport) OnGap(f func(gap string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gapFunc = f
}

func (c *clientTransport) reportGap(g string) {
	c.mu.Lock()
	f := c.gapFunc
	c.mu.Unlock()
	if f != nil && c.baseCtx.Err() == nil {
		f(g)
	}
}
