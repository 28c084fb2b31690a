package streamable

import (
	"context"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A call is a request of a session in progress. It is the context of its
// handler, and continues when its connection breaks.
type call struct {
	id jsonrpc.ID
	detached

	// The real context is created on first use. Most handlers finish without
	// using it.
	mu        sync.Mutex
	ctx       context.Context
	cancelCtx context.CancelCauseFunc
	cause     error // the first one passed to cancel
}

var _ context.Context = (*call)(nil)

func (c *call) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		c.ctx, c.cancelCtx = context.WithCancelCause(&c.detached)
		if c.cause != nil {
			c.cancelCtx(c.cause)
		}
	}
	return c.ctx
}

// cancel cancels the context. The first cause wins.
func (c *call) cancel(cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	end := c.cancelCtx
	c.mu.Unlock()
	if end != nil {
		end(cause)
	}
}

func (c *call) Done() <-chan struct{} { return c.context().Done() }
func (c *call) Value(key any) any     { return c.context().Value(key) }

func (c *call) Err() error {
	c.mu.Lock()
	unused := c.ctx == nil && c.cause == nil
	c.mu.Unlock()
	if unused {
		return c.detached.Err()
	}
	return c.context().Err()
}

// A detached context ends with the handler, and has the values of the
// connection's context.
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
