package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// send sends a request and waits for the response. Notifications that belong to
// it go to onNotify, or to the client if that is nil.
func (c *Client) send(ctx context.Context, rq *clientRequest, params json.RawMessage, onNotify func(Notification)) (json.RawMessage, error) {
	if c.exchanger == nil {
		return c.sendOnPipe(ctx, rq, params, onNotify)
	}
	c.mu.Lock()
	epoch := c.epoch
	c.mu.Unlock()
	raw, err := c.exchange(ctx, rq, params, onNotify)
	if rq.era != nil || c.Revision().Stateless() || !isStatus(err, 404) && !(isStatus(err, 400) && c.sessionLost(ctx, epoch)) {
		return raw, err
	}
	if err := c.renewSession(ctx, epoch); err != nil { // the session is lost
		return nil, err
	}
	return c.exchange(ctx, rq, params, onNotify)
}

// sendOnPipe is send on a transport for all messages. While a child is started
// again, it waits, unless the request is part of the handshake.
func (c *Client) sendOnPipe(ctx context.Context, rq *clientRequest, params json.RawMessage, onNotify func(Notification)) (json.RawMessage, error) {
	for {
		conn := c.conn.Load()
		if rq.era == nil && conn.ready != nil {
			select {
			case <-conn.ready:
			case <-conn.ended:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		raw, sent, err := c.sendOn(ctx, conn, rq.method, params, onNotify)
		switch _, refused := errors.AsType[*jsonrpc.Error](err); {
		case err == nil, refused:
			c.resetMalformed()
			return raw, err
		case !errors.Is(err, jsonrpc.ErrClosed):
			return nil, err
		case sent || rq.era != nil || c.restarter == nil:
			return nil, c.explainClosed(conn, rq, err)
		}
		select {
		case <-conn.replaced:
		case <-c.restarter.done:
			return nil, c.explainClosed(conn, rq, err)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// sendOn sends a request on a connection. It reports whether the request may
// have been sent.
func (c *Client) sendOn(ctx context.Context, conn *connection, method string, params json.RawMessage, onNotify func(Notification)) (raw json.RawMessage, sent bool, err error) {
	if onNotify == nil && c.restarter == nil {
		raw, err := conn.peer.Call(ctx, method, params)
		return raw, true, err
	}
	key := ""
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.subscriptions, key)
	}()
	raw, err = conn.peer.CallWithID(ctx, method, params, func(id jsonrpc.ID) {
		sent = true
		if onNotify == nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		key = id.String()
		c.subscriptions[key] = onNotify
	})
	return raw, sent, err
}

// exchange is send on a transport where each request has its own stream.
func (c *Client) exchange(ctx context.Context, rq *clientRequest, params json.RawMessage, onNotify func(Notification)) (json.RawMessage, error) {
	m := &jsonrpc.Message{ID: jsonrpc.IntID(c.lastID.Add(1)), Method: rq.method, Params: params}
	era := c.eraOf(rq)
	header, err := c.header(ctx, era.revision, rq, params)
	if err != nil {
		return nil, err
	}
	responded := false
	run := c.callbacks.runner(c, ctx)
	defer func() {
		if !responded {
			c.cancelStreamRequests(m.ID)
		}
	}()
	redact := redactor(c.o.Redact)
	for msg, err := range c.exchanger.Exchange(ctx, m, header) {
		msg, err = redact.message(msg), redact.error(err)
		switch {
		case err != nil && ctx.Err() != nil:
			if !era.revision.Stateless() {
				c.sendCancelled(m.ID, rq.method, context.Cause(ctx))
			}
			return nil, context.Cause(ctx)
		case err != nil && c.baseCtx.Err() != nil:
			return nil, jsonrpc.ErrClosed
		case err != nil:
			return nil, fmt.Errorf("%s: %w", rq.method, err)
		case msg.IsResponse() && msg.ID == m.ID, msg.IsResponse() && msg.ID.IsZero() && msg.Error != nil:
			c.resetMalformed()
			responded = true
			if msg.Error != nil {
				return nil, msg.Error
			}
			return msg.Result, nil
		case msg.IsResponse():
			c.reportRefused(fmt.Errorf("response to id %s on the stream of another request", msg.ID))
		case msg.IsNotification():
			c.handleNotification(ctx, msg, onNotify, run)
		case era.revision.Stateless():
			c.reportRefused(fmt.Errorf("request %s, which this revision does not have", msg.Method))
		default:
			c.handleStreamRequest(msg, m.ID, rq.own)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%s: %w", rq.method, errNoResponse)
}

var errNoResponse = errors.New("the server ended the stream without an answer")

// header returns the headers of a request, which repeat parts of it for proxies
// that do not parse JSON.
func (c *Client) header(ctx context.Context, r Revision, rq *clientRequest, params json.RawMessage) (map[string][]string, error) {
	h := map[string][]string{}
	if r.versionHeader() {
		h["Mcp-Protocol-Version"] = []string{r.String()}
	}
	if !r.routingHeader() {
		return h, nil
	}
	h["Mcp-Method"] = []string{rq.method}
	if name, ok := nameParam[rq.method]; ok {
		h["Mcp-Name"] = []string{encodeHeader(rawjson.Text(member(params, name)))}
	}
	if rq.method != "tools/call" {
		return h, nil
	}
	headers, err := c.toolHeaders(ctx, rawjson.Text(member(params, "name")))
	if err != nil {
		return nil, err
	}
	for i := range headers {
		if v, ok := headers[i].value(member(params, "arguments")); ok {
			h[headers[i].name] = []string{encodeHeader(v)}
		}
	}
	return h, nil
}
