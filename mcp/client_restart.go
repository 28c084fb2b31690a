package mcp

import (
	"cmp"
	"context"
	"time"
)

// A restarter starts a child again that has exited.
type restarter struct {
	command *Command
	done    chan struct{} // closed when it gives up, or the client is closed
}

// restartWith lets the client start its child again, as the command says.
func (c *Client) restartWith(command *Command) {
	c.restarter = &restarter{command: command, done: make(chan struct{})}
	c.wg.Go(c.keepRunning)
}

// isDone reports whether the connection is closed and will not be restored.
func (c *Client) isDone() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// maxBackoff limits the time before a restart.
const maxBackoff = 5 * time.Minute

// keepRunning starts the child again each time it exits, until there were too
// many restarts or the client is closed.
func (c *Client) keepRunning() {
	defer close(c.restarter.done)
	policy := c.restarter.command.Restart
	window := cmp.Or(policy.Window, time.Minute)
	var restarts []time.Time // those within the window
	for {
		conn := c.conn.Load()
		<-conn.ended
		if c.baseCtx.Err() != nil {
			return
		}
		for len(restarts) > 0 && time.Since(restarts[0]) > window {
			restarts = restarts[1:]
		}
		if len(restarts) >= policy.Max {
			c.log.Error("child exits too often, and is not started again", "restarts", len(restarts), "within", window)
			return
		}
		wait := cmp.Or(policy.Backoff, time.Second)
		for range restarts {
			wait = min(2*wait, maxBackoff)
		}
		c.log.Warn("child has exited, and is started again", "after", wait)
		if sleep(c.baseCtx, wait) != nil {
			return
		}
		restarts = append(restarts, time.Now())
		if err := c.restart(conn); err != nil && c.baseCtx.Err() == nil {
			c.log.Warn("cannot start the child again", "err", err)
		}
	}
}

// restart starts the child and performs the handshake.
func (c *Client) restart(last *connection) error {
	child, err := c.restarter.command.start(c.o.Redact)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		_ = child.Close()
		return nil
	}
	conn := c.newConnection(child)
	conn.ready = make(chan struct{})
	c.conn.Store(conn)
	conn.start()
	epoch := c.epoch
	c.mu.Unlock()
	close(last.replaced)

	ctx, cancel := context.WithTimeoutCause(c.baseCtx, cmp.Or(c.restarter.command.StartTimeout, time.Minute), ErrTimeout)
	defer cancel()
	if c.Revision().Stateless() {
		var era *negotiated
		if era, err = c.discover(ctx, c.Revision()); err == nil {
			c.setEra(era)
			c.ClearCache()
		}
	} else {
		err = c.renewSession(ctx, epoch)
	}
	if err != nil {
		_ = child.Close()
		<-conn.ended
		return child.explain(err)
	}
	close(conn.ready)
	return nil
}
