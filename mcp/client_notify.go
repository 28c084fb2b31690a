package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// handleNotification handles a notification, and calls the program's callbacks
// for it, if there are any, with run. If it belongs to a subscriptions/listen
// request, onNotify gets it.
func (c *Client) handleNotification(ctx context.Context, m *jsonrpc.Message, onNotify func(Notification), run func(func())) {
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
		c.handleProgress(ctx, n.Params, run)
	case "notifications/cancelled": // the server cancels one of its requests
		if id, err := jsonrpc.ParseID(member(n.Params, "requestId")); err == nil {
			c.conn.Load().peer.Cancel(id)
			c.cancelStreamRequest(id)
		}
	default:
		c.handleListChanged(n)
	}
	if onNotify != nil {
		onNotify(n)
	}
	switch {
	case n.Method == "notifications/message":
		c.handleLog(ctx, n.Params, run)
	case c.o.OnNotify != nil:
		run(func() { c.o.OnNotify(ctx, n) })
	}
}

func (c *Client) handleLog(ctx context.Context, params json.RawMessage, run func(func())) {
	if c.o.OnLog == nil {
		return
	}
	m := LogMessage{Data: member(params, "data")}
	if raw := member(params, "logger"); len(raw) > 0 && raw[0] == '"' {
		m.Logger = strings.Clone(rawjson.Text(raw))
	}
	if raw := member(params, "level"); len(raw) > 0 && raw[0] == '"' {
		if l, ok := parseLogLevel(rawjson.Text(raw)); ok { // otherwise it is treated as info
			m.Level = l.Level()
		}
	}
	run(func() { c.o.OnLog(ctx, m) })
}

func (c *Client) handleProgress(ctx context.Context, params json.RawMessage, run func(func())) {
	c.mu.Lock()
	w := c.timers[string(member(params, "progressToken"))]
	c.mu.Unlock()
	if w == nil {
		return
	}
	var p progressParams
	if jsonv2.Unmarshal(params, &p) == nil {
		w.extend()
		run(func() { w.progress(ctx, p.Progress) })
	}
}

// cleanupTimeout limits messages to the server that no caller waits for.
const cleanupTimeout = 2 * time.Second

// sendCancelled tells the server that a request was abandoned, after those
// before it.
func (c *Client) sendCancelled(id jsonrpc.ID, method string, cause error) {
	if method == "initialize" || method == "server/discover" {
		return // these cannot be cancelled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	before, sent := c.cancelSent, make(chan struct{})
	c.cancelSent = sent
	c.cancelling.Go(func() {
		defer cancel()
		defer close(sent)
		if before != nil {
			<-before // bounded by its own cleanupTimeout
		}
		_ = c.notify(ctx, "notifications/cancelled", cancelledParams{id, cause.Error()})
	})
}

// settle waits until the server has read that a request was abandoned. It does
// not wait for long for a server that does not respond.
func (c *Client) settle() {
	ctx, cancel := context.WithTimeout(c.baseCtx, cleanupTimeout)
	defer cancel()
	c.mu.Lock()
	sent := c.cancelSent
	c.mu.Unlock()
	if sent != nil {
		<-sent
	}
	_, _ = c.conn.Load().peer.Call(ctx, "ping", nil)
}

// notify sends a notification.
func (c *Client) notify(ctx context.Context, method string, params any) error {
	if c.exchanger == nil {
		return c.conn.Load().peer.Notify(ctx, method, params)
	}
	m := &jsonrpc.Message{Method: method}
	if params != nil {
		var err error
		if m.Params, err = jsonv2.Marshal(params); err != nil {
			return err
		}
	}
	return c.conn.Load().transport.Send(ctx, jsonrpc.One(m))
}
