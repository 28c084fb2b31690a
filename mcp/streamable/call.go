package streamable

import (
	"context"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A call is a request of a session under way. It is the context of its handler,
// and goes on when its connection breaks.
type call struct {
	id jsonrpc.ID
	detached

	// The context proper is made when somebody looks at it: most handlers are
	// done before they would.
	mu     sync.Mutex
	ctx    context.Context
	end    context.CancelCauseFunc
	reason error // the first that was given to cancel
}

var _ context.Context = (*call)(nil)

func (c *call) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		c.ctx, c.end = context.WithCancelCause(&c.detached)
		if c.reason != nil {
			c.end(c.reason)
		}
	}
	return c.ctx
}

// cancel ends the context. The first reason is the one that counts.
func (c *call) cancel(reason error) {
	c.mu.Lock()
	if c.reason == nil {
		c.reason = reason
	}
	end := c.end
	c.mu.Unlock()
	if end != nil {
		end(reason)
	}
}

func (c *call) Done() <-chan struct{} { return c.context().Done() }
func (c *call) Value(key any) any     { return c.context().Value(key) }

func (c *call) Err() error {
	c.mu.Lock()
	untouched := c.ctx == nil && c.reason == nil
	c.mu.Unlock()
	if untouched {
		return c.detached.Err()
	}
	return c.context().Err()
}

// detached is a context that ends with the handler, and knows what the
// connection's context knows.
type detached struct {
	context.Context
	values context.Context
}

func (d *detached) Value(key any) any {
	if v := d.Context.Value(key); v != nil {
		return v
	}
	return d.values.Value(key)
}
