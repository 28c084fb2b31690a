package mcp

import (
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// maxNoise is how many things may come in a row that are no messages.
const maxNoise = 100

// Health tells why the server should not be relied on: the conversation is over, or
// the last hundred things that it said were no messages, such as log lines on its
// standard output. Nil means that nothing is known against it. The client does
// nothing about it by itself: whether to begin anew is for the program to decide.
func (c *Client) Health() error {
	if c.gone() {
		if c.why == nil || errors.Is(c.why, jsonrpc.ErrClosed) {
			return c.lost(&question{}, jsonrpc.ErrClosed)
		}
		return c.lost(&question{}, fmt.Errorf("%w: %w", jsonrpc.ErrClosed, c.why))
	}
	if n := c.noise.Load(); n >= maxNoise {
		return fmt.Errorf("mcp: the last %d things that the server said are no messages", n)
	}
	return nil
}

// spoke notes that a message has come.
func (c *Client) spoke() {
	if c.noise.Load() > 0 {
		c.noise.Store(0)
	}
}

// lost explains to whoever asked why the conversation is over: for a child process
// as an ExitError. Before it has begun Connect tells that.
func (c *Client) lost(q *question, err error) error {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	child, ok := c.transport.(interface{ explain(err error) *ExitError })
	if closed || !ok || q.era != nil {
		return err
	}
	return child.explain(err)
}
