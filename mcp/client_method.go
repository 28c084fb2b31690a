package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Read reads a resource. If it does not exist, the error is ErrNotFound.
func (c *Client) Read(ctx context.Context, uri string) ([]Contents, error) {
	raw, err := c.resolve(ctx, &clientRequest{method: "resources/read", params: []param{{"uri", uri}}}, nil)
	if err != nil {
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && isNotFound(e) {
			return nil, fmt.Errorf("read %s: %w: %w", uri, ErrNotFound, e)
		}
		return nil, fmt.Errorf("read %s: %w", uri, err)
	}
	var res struct {
		Contents []Contents `json:"contents"`
	}
	if err := jsonv2.Unmarshal(raw, &res, trusted); err != nil {
		return nil, fmt.Errorf("read %s: %s", uri, plainError(err))
	}
	return res.Contents, nil
}

// isNotFound reports whether an error means that a resource does not exist.
// Some servers use the code of the other era.
func isNotFound(e *jsonrpc.Error) bool {
	return e.Code == R20241105.notFound() || e.Code == Newest.notFound() && member(e.Data, "uri") != nil
}

// Prompt gets a prompt with its arguments filled in.
func (c *Client) Prompt(ctx context.Context, name string, args map[string]string) (*PromptResult, error) {
	rq := &clientRequest{method: "prompts/get", params: []param{{"name", name}}}
	if len(args) > 0 {
		rq.params = append(rq.params, param{"arguments", args})
	}
	raw, err := c.resolve(ctx, rq, nil)
	if err != nil {
		return nil, fmt.Errorf("get prompt %s: %w", name, err)
	}
	var res PromptResult
	if err := jsonv2.Unmarshal(raw, &res, trusted); err != nil {
		return nil, fmt.Errorf("get prompt %s: %s", name, plainError(err))
	}
	return &res, nil
}

// Complete gets completions for an argument.
func (c *Client) Complete(ctx context.Context, ref CompleteRef, argument, value string) (*Completion, error) {
	return c.CompleteWith(ctx, CompleteParams{Ref: ref, Argument: CompleteArgument{argument, value}})
}

// CompleteWith is Complete with all parameters, such as the arguments that are
// already known.
func (c *Client) CompleteWith(ctx context.Context, p CompleteParams) (*Completion, error) {
	rq := &clientRequest{method: "completion/complete", params: []param{{"ref", p.Ref}, {"argument", p.Argument}}}
	if p.Context != nil {
		rq.params = append(rq.params, param{"context", p.Context})
	}
	raw, err := c.call(ctx, rq)
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

// Ping checks that the server responds. The stateless era has no ping; there it
// sends server/discover.
func (c *Client) Ping(ctx context.Context) error {
	method := "ping"
	if c.Revision().Stateless() {
		method = "server/discover"
	}
	_, err := c.call(ctx, &clientRequest{method: method})
	return err
}

// Ask sends any request, such as one of an extension, and returns the raw
// result. params must encode to a JSON object without _meta, or be nil.
func (c *Client) Ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := encodeArguments(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	rq := &clientRequest{method: method}
	for name, v := range jsonrpc.Members(json.RawMessage(raw)) {
		rq.params = append(rq.params, param{strings.Clone(name), rawJSON(v)})
	}
	return c.call(ctx, rq)
}

// RootsChanged tells the server that the result of Roots has changed. It does
// nothing in the stateless era, where servers ask each time.
func (c *Client) RootsChanged(ctx context.Context) error {
	if c.Revision().Stateless() || c.o.Roots == nil {
		return nil
	}
	return c.notify(ctx, "notifications/roots/list_changed", nil)
}
