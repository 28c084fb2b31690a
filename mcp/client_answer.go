package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/pageurl"
	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// answerers are the functions that answer the server's questions.
type answerers struct {
	elicit func(ctx context.Context, p *ElicitParams) (*ElicitResult, error)
	sample func(ctx context.Context, p *SampleParams) (*SampleResult, error)
	roots  func(ctx context.Context) ([]Root, error)
}

func (c *Client) answerers() *answerers { return &answerers{c.o.Elicit, c.o.Sample, c.o.Roots} }

// handlePeerRequest handles a request that belongs to no request of this client.
// If just one is in flight that has answerers of its own, it is that one's.
func (c *Client) handlePeerRequest(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
	var own *answerers
	c.mu.Lock()
	if len(c.forwarding) == 1 {
		for _, own = range c.forwarding {
		}
	}
	c.mu.Unlock()
	return c.handleRequest(ctx, m, own)
}

// handleRequest handles a request from the server. Only revisions with a
// handshake have such requests. If own is nil, the client's functions answer it.
func (c *Client) handleRequest(ctx context.Context, m *jsonrpc.Message, own *answerers) (json.RawMessage, error) {
	c.resetMalformed()
	if c.Revision().Stateless() {
		return nil, unknownMethod(m.Method)
	}
	if m.Method == "ping" {
		return nil, nil
	}
	resume := jsonrpc.Idle(ctx) // a user may take long
	defer resume()
	v, err := c.callHandler(ctx, own, m.Method, m.Params)
	if err != nil {
		if _, isRPC := errors.AsType[*jsonrpc.Error](err); !isRPC && ctx.Err() == nil {
			c.log.Warn("cannot answer a request from the server", "method", m.Method, "err", err)
		}
		return nil, err
	}
	return jsonv2.Marshal(v)
}

// callHandler calls the program's function for a server request.
func (c *Client) callHandler(ctx context.Context, own *answerers, method string, params json.RawMessage) (any, error) {
	if own == nil {
		own = c.answerers()
	}
	c.handling.Add(1)
	defer func() {
		c.lastHandled.Store(time.Now().UnixNano())
		c.handling.Add(-1)
	}()
	switch {
	case method == "elicitation/create" && own.elicit != nil:
		var p ElicitParams
		if err := object("params", params, &p); err != nil {
			return nil, err
		}
		return elicit(ctx, own.elicit, &p)
	case method == "sampling/createMessage" && own.sample != nil:
		var p SampleParams
		if err := object("params", params, &p); err != nil {
			return nil, err
		}
		if (len(p.Tools) > 0 || p.ToolChoice != nil) && (c.o.Capabilities.Sampling == nil || c.o.Capabilities.Sampling.Tools == nil) {
			return nil, invalid("this client does not support tools in sampling")
		}
		res, err := own.sample(ctx, &p)
		if err == nil && res == nil {
			err = errors.New("mcp: Sample returned nothing")
		}
		return res, err
	case method == "roots/list" && own.roots != nil:
		roots, err := own.roots(ctx)
		if roots == nil {
			roots = []Root{}
		}
		return rootsResult{Roots: roots}, err
	}
	return nil, unknownMethod(method)
}

// elicit asks the user, and adds defaults to an accepted form.
func elicit(ctx context.Context, ask func(context.Context, *ElicitParams) (*ElicitResult, error), p *ElicitParams) (*ElicitResult, error) {
	switch p.Mode {
	case "", "form":
	case "url":
		if err := pageurl.Check(p.URL); err != nil {
			return nil, invalid("url: %v", err)
		}
	default:
		return nil, invalid("unknown mode %q", p.Mode)
	}
	res, err := ask(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case res == nil:
		return nil, errors.New("mcp: Elicit returned nothing")
	case res.Action != "accept" && res.Action != "decline" && res.Action != "cancel":
		return nil, fmt.Errorf("mcp: Elicit returned the action %q, want accept, decline or cancel", res.Action)
	case res.Action != "accept" || p.Mode == "url":
		return &ElicitResult{Action: res.Action, Meta: res.Meta}, nil
	}
	filled := *res
	filled.Content, err = fillDefaults(res.Content, p.RequestedSchema)
	return &filled, err
}

// fillDefaults adds the defaults of a schema to an object.
func fillDefaults(content, schema json.RawMessage) (json.RawMessage, error) {
	if len(content) == 0 {
		content = json.RawMessage("{}")
	}
	var have map[string]json.RawMessage
	if err := jsonv2.Unmarshal(content, &have); err != nil {
		return nil, fmt.Errorf("mcp: form content must be an object: %s", plainError(err))
	}
	b := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(content), []byte("}")), " \t\r\n")
	b = b[:len(b):len(b)]
	for name, property := range rawjson.Members(member(schema, "properties")) {
		if v := member(property, "default"); v != nil && have[name] == nil {
			b = append(appendName(b, name), v...)
		}
	}
	return append(b, '}'), nil
}
