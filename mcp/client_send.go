package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// send sends a request and waits for the response. Notifications that belong to
// it go to onNotify, or to the client if that is nil.
func (c *Client) send(ctx context.Context, rq *clientRequest, params json.RawMessage, onNotify func(Notification)) (json.RawMessage, error) {
	if c.exchanger == nil {
		raw, err := c.sendOnPipe(ctx, rq.method, params, onNotify)
		switch _, refused := errors.AsType[*jsonrpc.Error](err); {
		case errors.Is(err, jsonrpc.ErrClosed):
			return nil, c.explainClosed(rq, err)
		case err == nil, refused:
			c.resetMalformed()
		}
		return raw, err
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

func (c *Client) sendOnPipe(ctx context.Context, method string, params json.RawMessage, onNotify func(Notification)) (json.RawMessage, error) {
	if onNotify == nil {
		return c.peer.Call(ctx, method, params)
	}
	key := ""
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.subscriptions, key)
	}()
	return c.peer.CallWithID(ctx, method, params, func(id jsonrpc.ID) {
		c.mu.Lock()
		defer c.mu.Unlock()
		key = id.String()
		c.subscriptions[key] = onNotify
	})
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
	defer func() {
		if !responded {
			c.cancelStreamRequests(m.ID)
		}
	}()
	for msg, err := range c.exchanger.Exchange(ctx, m, header) {
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
			c.handleNotification(ctx, msg, onNotify)
		case era.revision.Stateless():
			c.reportRefused(fmt.Errorf("request %s, which this revision does not have", msg.Method))
		default:
			c.handleStreamRequest(msg, m.ID)
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
	if r.VersionHeader() {
		h["Mcp-Protocol-Version"] = []string{r.String()}
	}
	if !r.RoutingHeader() {
		return h, nil
	}
	h["Mcp-Method"] = []string{rq.method}
	if name, ok := nameParam[rq.method]; ok {
		h["Mcp-Name"] = []string{encodeHeader(jsonrpc.Text(member(params, name)))}
	}
	if rq.method != "tools/call" {
		return h, nil
	}
	headers, err := c.toolHeaders(ctx, jsonrpc.Text(member(params, "name")))
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
