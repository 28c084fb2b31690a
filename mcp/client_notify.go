package mcp

import (
	"context"
	"encoding/json"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// handleNotification handles a notification. If it belongs to a
// subscriptions/listen request, onNotify gets it.
func (c *Client) handleNotification(ctx context.Context, m *jsonrpc.Message, onNotify func(Notification)) {
	c.resetMalformed()
	n := Notification{m.Method, m.Params}
	if onNotify == nil {
		if id := member(member(n.Params, "_meta"), metaSubscription); id != nil {
			c.mu.Lock()
			onNotify = c.subscriptions[string(id)]
			c.mu.Unlock()
		}
	}
	switch n.Method {
	case "notifications/progress":
		c.handleProgress(n.Params)
	case "notifications/cancelled": // the server cancels one of its requests
		if id, err := jsonrpc.ParseID(member(n.Params, "requestId")); err == nil {
			c.peer.Cancel(id)
			c.cancelStreamRequest(id)
		}
	default:
		c.handleListChanged(n)
	}
	if onNotify != nil {
		onNotify(n)
	}
	if c.o.OnNotify != nil {
		c.o.OnNotify(ctx, n)
	}
}

func (c *Client) handleProgress(params json.RawMessage) {
	c.mu.Lock()
	w := c.timers[string(member(params, "progressToken"))]
	c.mu.Unlock()
	if w == nil {
		return
	}
	var p ProgressParams
	if jsonv2.Unmarshal(params, &p) == nil {
		w.extend()
		w.progress(p)
	}
}

// cleanupTimeout limits messages to the server that no caller waits for.
const cleanupTimeout = 2 * time.Second

// sendCancelled tells the server that a request was abandoned.
func (c *Client) sendCancelled(id jsonrpc.ID, method string, cause error) {
	if method == "initialize" || method == "server/discover" {
		return // these cannot be cancelled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.cancelling.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		_ = c.notify(ctx, "notifications/cancelled", cancelledParams{id, cause.Error()})
	})
}

// notify sends a notification.
func (c *Client) notify(ctx context.Context, method string, params any) error {
	if c.exchanger == nil {
		return c.peer.Notify(ctx, method, params)
	}
	m := &jsonrpc.Message{Method: method}
	if params != nil {
		var err error
		if m.Params, err = jsonv2.Marshal(params); err != nil {
			return err
		}
	}
	return c.transport.Send(ctx, jsonrpc.One(m))
}
