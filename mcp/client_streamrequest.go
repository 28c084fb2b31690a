package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// maxStreamRequests limits how many of them are handled at once.
const maxStreamRequests = 64

// A streamRequest is a server request received on the response stream of
// another request.
type streamRequest struct {
	parent jsonrpc.ID // id of that request
	cancel context.CancelCauseFunc
}

// handleStreamRequest handles a server request received on a response stream.
func (c *Client) handleStreamRequest(m *jsonrpc.Message, of jsonrpc.ID, own *answerers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	busy := len(c.streamRequests) >= maxStreamRequests
	ctx, cancel := context.WithCancelCause(c.baseCtx)
	if !busy {
		c.streamRequests[m.ID] = streamRequest{of, cancel}
	}
	c.wg.Go(func() {
		defer cancel(nil)
		response := &jsonrpc.Message{ID: m.ID}
		var err error
		if busy {
			err = jsonrpc.Errorf(jsonrpc.CodeInternal, "busy: too many requests at once")
		} else {
			limited, stop := context.WithTimeout(ctx, c.o.MaxTime)
			response.Result, err = c.handleRequest(limited, m, own)
			stop()
			c.mu.Lock()
			delete(c.streamRequests, m.ID)
			c.mu.Unlock()
		}
		if context.Cause(ctx) == jsonrpc.ErrCancelled {
			return // the server cancelled it
		}
		if err != nil {
			response.Result, response.Error = nil, asError(err)
		} else if len(response.Result) == 0 {
			response.Result = json.RawMessage("{}")
		}
		ctx, cancel := context.WithTimeout(c.baseCtx, c.o.Timeout) // the server waits for it, and so may the user
		defer cancel()
		if err := c.conn.Load().transport.Send(ctx, jsonrpc.One(response)); err != nil {
			c.reportRefused(fmt.Errorf("send response to %s: %w", m.Method, err))
		}
	})
}

// cancelStreamRequests cancels the server requests on the stream of an
// abandoned request.
func (c *Client) cancelStreamRequests(of jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.streamRequests {
		if a.parent == of {
			a.cancel(jsonrpc.ErrCancelled)
		}
	}
}

// cancelStreamRequest cancels a request that the server has cancelled.
func (c *Client) cancelStreamRequest(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.streamRequests[id]; ok {
		a.cancel(jsonrpc.ErrCancelled)
	}
}

// asError returns the error for the server. It hides the details of handler
// errors.
func asError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "Internal error")
}
