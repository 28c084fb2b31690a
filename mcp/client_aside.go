package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// maxAside is how many questions are answered at once beside the streams that
// they came on.
const maxAside = 64

// An aside is a question that is being answered, which came on a request's own
// stream.
type aside struct {
	of     jsonrpc.ID // the request
	cancel context.CancelCauseFunc
}

// askedAside answers a question that came on the stream of a request.
func (c *Client) askedAside(m *jsonrpc.Message, of jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	busy := len(c.asides) >= maxAside
	ctx, cancel := context.WithCancelCause(c.life)
	if !busy {
		c.asides[m.ID] = aside{of, cancel}
	}
	c.wg.Go(func() {
		defer cancel(nil)
		answer := &jsonrpc.Message{ID: m.ID}
		var err error
		if busy {
			err = jsonrpc.Errorf(jsonrpc.CodeInternal, "busy: too many questions at once")
		} else {
			limited, stop := context.WithTimeout(ctx, c.o.MaxTime)
			answer.Result, err = c.asked(limited, m)
			stop()
			c.mu.Lock()
			delete(c.asides, m.ID)
			c.mu.Unlock()
		}
		if context.Cause(ctx) == jsonrpc.ErrCancelled {
			return // nobody waits for it
		}
		if err != nil {
			answer.Result, answer.Error = nil, asError(err)
		} else if len(answer.Result) == 0 {
			answer.Result = json.RawMessage("{}")
		}
		ctx, cancel := context.WithTimeout(c.life, c.o.Timeout) // the server waits for it, and the person may have
		defer cancel()
		if err := c.transport.Send(ctx, jsonrpc.One(answer)); err != nil {
			c.refuse(fmt.Errorf("answer to %s: %w", m.Method, err))
		}
	})
}

// dropAsides ends the questions that belong to a request which was given up.
func (c *Client) dropAsides(of jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asides {
		if a.of == of {
			a.cancel(jsonrpc.ErrCancelled)
		}
	}
}

// dropAside ends a question that the server itself has given up.
func (c *Client) dropAside(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.asides[id]; ok {
		a.cancel(jsonrpc.ErrCancelled)
	}
}

// asError is what the server is told. What went wrong in a handler is not its
// business.
func asError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error")
}
