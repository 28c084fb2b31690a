package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// Read reads a resource. If it does not exist, the error is ErrNotFound.
func (c *Client) Read(ctx context.Context, uri string, o *CallOptions) (*ResourceResult, error) {
	raw, err := c.resolve(ctx, &clientRequest{method: "resources/read", params: []param{{"uri", uri}}}, o)
	if err != nil {
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && isNotFound(e) {
			return nil, fmt.Errorf("read %s: %w: %w", uri, ErrNotFound, e)
		}
		return nil, fmt.Errorf("read %s: %w", uri, err)
	}
	var res ResourceResult
	if err := jsonv2.Unmarshal(raw, &res, trusted); err != nil {
		return nil, fmt.Errorf("read %s: %s", uri, plainError(err))
	}
	res.Meta = res.Meta.withoutServerInfo()
	return &res, nil
}

// withoutServerInfo returns the metadata of a result without what every result
// has, or nil.
func (m Meta) withoutServerInfo() Meta {
	if delete(m, metaServerInfo); len(m) == 0 {
		return nil
	}
	return m
}

// isNotFound reports whether an error means that a resource does not exist.
// Some servers use the code of the other era.
func isNotFound(e *jsonrpc.Error) bool {
	return e.Code == R20241105.notFound() || e.Code == LatestRevision.notFound() && member(e.Data, "uri") != nil
}

// Prompt gets a prompt with its arguments filled in.
func (c *Client) Prompt(ctx context.Context, name string, args map[string]string, o *CallOptions) (*PromptResult, error) {
	rq := &clientRequest{method: "prompts/get", params: []param{{"name", name}}}
	if len(args) > 0 {
		rq.params = append(rq.params, param{"arguments", args})
	}
	raw, err := c.resolve(ctx, rq, o)
	if err != nil {
		return nil, fmt.Errorf("get prompt %s: %w", name, err)
	}
	var res PromptResult
	if err := jsonv2.Unmarshal(raw, &res, trusted); err != nil {
		return nil, fmt.Errorf("get prompt %s: %s", name, plainError(err))
	}
	res.Meta = res.Meta.withoutServerInfo()
	return &res, nil
}

// Complete gets completions for an argument of a prompt or a resource template.
func (c *Client) Complete(ctx context.Context, p *CompleteParams, o *CallOptions) (*Completion, error) {
	rq := &clientRequest{method: "completion/complete", params: []param{{"ref", p.Ref}, {"argument", p.Argument}}}
	if p.Context != nil {
		rq.params = append(rq.params, param{"context", p.Context})
	}
	raw, err := c.call(ctx, c.with(rq, o))
	if err != nil {
		return nil, fmt.Errorf("complete %s: %w", p.Argument.Name, err)
	}
	var res completeResult
	if err := jsonv2.Unmarshal(raw, &res, trusted); err != nil {
		return nil, fmt.Errorf("complete %s: %s", p.Argument.Name, plainError(err))
	}
	if res.Completion == nil {
		return nil, fmt.Errorf("complete %s: the result has no completion", p.Argument.Name)
	}
	return res.Completion, nil
}

// Ping checks that the server responds. From revision 2026-07-28 on there is no
// ping, and it sends server/discover.
func (c *Client) Ping(ctx context.Context) error {
	method := "ping"
	if c.Revision().Stateless() {
		method = "server/discover"
	}
	_, err := c.call(ctx, &clientRequest{method: method})
	return err
}

// CallMethod sends any request, such as one of an extension, and returns the
// result as the server sent it. params must encode to a JSON object without
// _meta, or be nil. Questions of the server are not answered.
func (c *Client) CallMethod(ctx context.Context, method string, params any, o *CallOptions) (json.RawMessage, error) {
	raw, err := encodeArguments(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	rq := &clientRequest{method: method}
	for name, v := range rawjson.Members(json.RawMessage(raw)) {
		rq.params = append(rq.params, param{strings.Clone(name), rawJSON(v)})
	}
	return c.call(ctx, c.with(rq, o))
}

// RootsChanged tells the server that the result of Roots has changed. It does
// nothing in revision 2026-07-28, where servers ask each time.
//
// Deprecated: roots are deprecated by revision 2026-07-28.
func (c *Client) RootsChanged(ctx context.Context) error {
	if c.Revision().Stateless() || c.o.Roots == nil {
		return nil
	}
	return c.notify(ctx, "notifications/roots/list_changed", nil)
}
