package mcp

import (
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// maxMalformed limits the malformed messages in a row.
const maxMalformed = 100

// Health returns an error if the server should not be relied on: the connection
// is closed, or the last hundred messages were malformed, such as log lines on
// its standard output. Nil means that there is no known problem. The client
// does not reconnect by itself, unless Command.Restart says so.
func (c *Client) Health() error {
	if conn := c.conn.Load(); conn.isEnded() {
		if conn.runErr == nil || errors.Is(conn.runErr, jsonrpc.ErrClosed) {
			return c.explainClosed(conn, &clientRequest{}, jsonrpc.ErrClosed)
		}
		return c.explainClosed(conn, &clientRequest{}, fmt.Errorf("%w: %w", jsonrpc.ErrClosed, conn.runErr))
	}
	if n := c.malformed.Load(); n >= maxMalformed {
		return fmt.Errorf("mcp: the last %d messages from the server are malformed", n)
	}
	return nil
}

// resetMalformed notes that a valid message was received.
func (c *Client) resetMalformed() {
	if c.malformed.Load() > 0 {
		c.malformed.Store(0)
	}
}

// explainClosed adds to err what happened to a child process, as an ExitError.
// During the handshake, Connect does that.
func (c *Client) explainClosed(conn *connection, rq *clientRequest, err error) error {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	child, ok := conn.transport.(interface{ explain(err error) *ExitError })
	if closed || !ok || rq.era != nil {
		return err
	}
	return child.explain(err)
}
