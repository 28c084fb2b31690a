package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// asked answers a request of the server's. Only revisions with a handshake have
// such.
func (c *Client) asked(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
	c.spoke()
	if c.Revision().Stateless() {
		return nil, unknownMethod(m.Method)
	}
	if m.Method == "ping" {
		return nil, nil
	}
	resume := jsonrpc.Idle(ctx) // a person may take long
	defer resume()
	v, err := c.answer(ctx, m.Method, m.Params)
	if err != nil {
		if _, told := errors.AsType[*jsonrpc.Error](err); !told && ctx.Err() == nil {
			c.log.Warn("a question of the server's could not be answered", "method", m.Method, "err", err)
		}
		return nil, err
	}
	return jsonv2.Marshal(v)
}

// answer asks the program what the server wants to know.
func (c *Client) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	c.answering.Add(1)
	defer func() {
		c.answered.Store(time.Now().UnixNano())
		c.answering.Add(-1)
	}()
	switch {
	case method == "elicitation/create" && c.o.Elicit != nil:
		var p ElicitParams
		if err := object("params", params, &p); err != nil {
			return nil, err
		}
		return c.elicit(ctx, &p)
	case method == "sampling/createMessage" && c.o.Sample != nil:
		var p SampleParams
		if err := object("params", params, &p); err != nil {
			return nil, err
		}
		res, err := c.o.Sample(ctx, &p)
		if err == nil && res == nil {
			err = errors.New("mcp: Sample returned nothing")
		}
		return res, err
	case method == "roots/list" && c.o.Roots != nil:
		roots, err := c.o.Roots(ctx)
		if roots == nil {
			roots = []Root{}
		}
		return rootsResult{Roots: roots}, err
	}
	return nil, unknownMethod(method)
}

// elicit asks the person, and fills in what an accepted form leaves out.
func (c *Client) elicit(ctx context.Context, p *ElicitParams) (*ElicitResult, error) {
	switch p.Mode {
	case "", "form":
	case "url":
		if err := CheckURL(p.URL); err != nil {
			return nil, invalid("url: %v", err)
		}
	default:
		return nil, invalid("unknown mode %q", p.Mode)
	}
	res, err := c.o.Elicit(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case res == nil:
		return nil, errors.New("mcp: Elicit returned nothing")
	case res.Action != "accept" && res.Action != "decline" && res.Action != "cancel":
		return nil, fmt.Errorf("mcp: Elicit returned the action %q, which is none of accept, decline and cancel", res.Action)
	case res.Action != "accept" || p.Mode == "url":
		return &ElicitResult{Action: res.Action, Meta: res.Meta}, nil
	}
	filled := *res
	filled.Content, err = fillDefaults(res.Content, p.RequestedSchema)
	return &filled, err
}

// fillDefaults adds to an object the members that its schema has a default for.
func fillDefaults(content, schema json.RawMessage) (json.RawMessage, error) {
	if len(content) == 0 {
		content = json.RawMessage("{}")
	}
	var have map[string]json.RawMessage
	if err := jsonv2.Unmarshal(content, &have); err != nil {
		return nil, fmt.Errorf("mcp: the content of a form is an object: %s", plainError(err))
	}
	b := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(content), []byte("}")), " \t\r\n")
	b = b[:len(b):len(b)]
	for name, property := range jsonrpc.Members(member(schema, "properties")) {
		if v := member(property, "default"); v != nil && have[name] == nil {
			b = append(appendName(b, name), v...)
		}
	}
	return append(b, '}'), nil
}

// CheckURL reports why an address that a server names should not be shown as
// something to visit: it must be https, or http on this machine, with a host,
// without a user name, and ASCII without control characters or spaces.
func CheckURL(address string) error {
	for _, r := range address {
		if r <= ' ' || r >= 0x7f || r == '\\' {
			return errors.New("it holds a character that does not belong there")
		}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("it cannot be read")
	case u.User != nil:
		return errors.New("it holds a user name")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("it names no host")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("scheme %q is not https", u.Scheme)
}

func isLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost"
}

// told hears a notification. What belongs to a request that listens is for hear.
func (c *Client) told(ctx context.Context, m *jsonrpc.Message, hear func(Notification)) {
	c.spoke()
	n := Notification{m.Method, m.Params}
	if hear == nil {
		if id := member(member(n.Params, "_meta"), metaSubscription); id != nil {
			c.mu.Lock()
			hear = c.hearing[string(id)]
			c.mu.Unlock()
		}
	}
	switch n.Method {
	case "notifications/progress":
		c.progressed(n.Params)
	case "notifications/cancelled": // the server gives up a question of its own
		if id, err := jsonrpc.ParseID(member(n.Params, "requestId")); err == nil {
			c.peer.Cancel(id)
			c.dropAside(id)
		}
	default:
		c.changed(n)
	}
	if hear != nil {
		hear(n)
	}
	if c.o.OnNotify != nil {
		c.o.OnNotify(ctx, n)
	}
}

func (c *Client) progressed(params json.RawMessage) {
	c.mu.Lock()
	w := c.follow[string(member(params, "progressToken"))]
	c.mu.Unlock()
	if w == nil {
		return
	}
	var p ProgressParams
	if jsonv2.Unmarshal(params, &p) == nil {
		w.sign()
		w.hear(p)
	}
}
