package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// CallOptions are for one call.
type CallOptions struct {
	// Progress hears how far the call has come. Without it the server is not asked
	// to tell. It must be quick and must not call the client: on a pipe nothing else
	// is heard meanwhile.
	Progress func(ProgressParams)
	// Timeout and MaxTime stand in for those of the client. They do not bound a
	// call that becomes a task, whose time is its context's.
	Timeout, MaxTime time.Duration
	// OnTask is told when the call becomes a task. Whoever keeps the id can follow
	// it with Client.Task later, also from another process.
	OnTask func(id string)
	// Meta is sent with the call.
	Meta Meta
}

// Call calls a tool. Args is anything that encodes to a JSON object; nil is an
// empty one. A failure that the tool tells the model is a result with IsError
// set, not an error.
//
// If ctx ends first, the server is told to stop, unless the call has become a
// task: that goes on, and *TaskError tells its id.
func (c *Client) Call(ctx context.Context, tool string, args any, o *CallOptions) (*ToolResult, error) {
	arguments, err := encodeArguments(args)
	if err != nil {
		return nil, fmt.Errorf("call tool %s: %w", tool, err)
	}
	q := &question{method: "tools/call", params: []param{{"name", tool}, {"arguments", arguments}}}
	if o != nil {
		q.progress, q.timeout, q.maxTime, q.meta = o.Progress, o.Timeout, o.MaxTime, o.Meta
	}
	raw, err := c.resolve(ctx, q, o)
	if err != nil {
		return nil, fmt.Errorf("call tool %s: %w", tool, err)
	}
	return readToolResult(tool, raw)
}

// readToolResult reads a result that has passed the codec. Most hold one block of
// text, which needs no reflection.
func readToolResult(tool string, raw json.RawMessage) (*ToolResult, error) {
	res := &ToolResult{}
	var err error
	for name, v := range jsonrpc.Members(raw) {
		switch name {
		case "content":
			res.Content, err = readBlocks(v)
		case "structuredContent":
			res.StructuredContent = v
		case "isError":
			res.IsError = string(v) == "true"
		case "_meta":
			res.Meta, err = readResultMeta(v)
		}
		if err != nil {
			return nil, fmt.Errorf("call tool %s: /%s: %w", tool, name, err)
		}
	}
	return res, nil
}

func readBlocks(array json.RawMessage) (blocks []Content, err error) {
	if array[0] != '[' {
		return nil, errors.New("must be an array")
	}
	for v := range jsonrpc.Elements(array) {
		b, plain := readText(v)
		if !plain {
			if err := jsonv2.Unmarshal(v, &b, checked); err != nil {
				return nil, errors.New(plainError(err))
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// readText reads a block that holds a text and no more. It reports false for any
// other.
func readText(block json.RawMessage) (b Content, plain bool) {
	if len(block) == 0 || block[0] != '{' {
		return Content{}, false
	}
	for name, v := range jsonrpc.Members(block) {
		switch {
		case name == "type" && string(v) == `"text"`:
			b.Type = "text"
		case name == "text" && v[0] == '"':
			b.Text = jsonrpc.Text(v)
		default:
			return Content{}, false
		}
	}
	return b, b.Type == "text"
}

// readResultMeta reads a result's _meta, without what the protocol itself puts
// there.
func readResultMeta(raw json.RawMessage) (m Meta, err error) {
	for name, v := range jsonrpc.Members(raw) {
		if name == metaServerInfo {
			continue
		}
		var value any
		if err := jsonv2.Unmarshal(v, &value, checked); err != nil {
			return nil, errors.New(plainError(err))
		}
		put((*map[string]any)(&m), strings.Clone(name), value)
	}
	return m, nil
}

// encodeArguments writes what must be an object. JSON that is given as such is
// checked.
func encodeArguments(args any) (encoded, error) {
	if raw, ok := args.(json.RawMessage); ok && len(raw) == 0 || args == nil {
		return encoded("{}"), nil
	} else if ok {
		args = jsontext.Value(raw)
	}
	b, err := jsonv2.Marshal(args, jsonv2.Deterministic(true))
	if err == nil && b[0] != '{' {
		err = errors.New("it must encode to a JSON object")
	}
	return b, err
}

// Text is the text of the result's blocks, one below the other.
func (r *ToolResult) Text() string {
	var parts []string
	for _, b := range r.Content {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// CallAs calls a tool and reads its structured answer, or its text where there is
// none; an Out of type string is the text. A failure that the tool tells the
// model is a *ToolError.
func CallAs[Out any](ctx context.Context, c *Client, tool string, args any) (Out, error) {
	var out Out
	res, err := c.Call(ctx, tool, args, nil)
	if err != nil {
		return out, err
	}
	text := res.Text()
	if res.IsError {
		e := &ToolError{Text: text}
		if res.StructuredContent != nil {
			e.Structured = res.StructuredContent
		}
		return out, e
	}
	if s, ok := any(&out).(*string); ok && res.StructuredContent == nil {
		*s = text
		return out, nil
	}
	raw := res.StructuredContent
	if raw == nil {
		raw = json.RawMessage(text)
	}
	if err := jsonv2.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("answer of tool %s: %s", tool, plainError(err))
	}
	return out, nil
}

// Read reads a resource. One that is not there is ErrNotFound.
func (c *Client) Read(ctx context.Context, uri string) ([]Contents, error) {
	raw, err := c.resolve(ctx, &question{method: "resources/read", params: []param{{"uri", uri}}}, nil)
	if err != nil {
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && isNotFound(e) {
			return nil, fmt.Errorf("read %s: %w: %w", uri, ErrNotFound, e)
		}
		return nil, fmt.Errorf("read %s: %w", uri, err)
	}
	var res struct {
		Contents []Contents `json:"contents"`
	}
	if err := jsonv2.Unmarshal(raw, &res, checked); err != nil {
		return nil, fmt.Errorf("read %s: %s", uri, plainError(err))
	}
	return res.Contents, nil
}

// isNotFound reports whether an error says that a resource is not there. Servers
// use the code of either era in the other.
func isNotFound(e *jsonrpc.Error) bool {
	return e.Code == R20241105.notFound() || e.Code == Newest.notFound() && member(e.Data, "uri") != nil
}

// Prompt gets a prompt with its blanks filled in.
func (c *Client) Prompt(ctx context.Context, name string, args map[string]string) (*PromptResult, error) {
	q := &question{method: "prompts/get", params: []param{{"name", name}}}
	if len(args) > 0 {
		q.params = append(q.params, param{"arguments", args})
	}
	raw, err := c.resolve(ctx, q, nil)
	if err != nil {
		return nil, fmt.Errorf("get prompt %s: %w", name, err)
	}
	var res PromptResult
	if err := jsonv2.Unmarshal(raw, &res, checked); err != nil {
		return nil, fmt.Errorf("get prompt %s: %s", name, plainError(err))
	}
	return &res, nil
}

// Complete asks how an argument may go on.
func (c *Client) Complete(ctx context.Context, ref CompleteRef, argument, value string) (*Completion, error) {
	return c.CompleteWith(ctx, CompleteParams{Ref: ref, Argument: CompleteArgument{argument, value}})
}

// CompleteWith is Complete with all that can be said, such as the arguments that
// are settled already.
func (c *Client) CompleteWith(ctx context.Context, p CompleteParams) (*Completion, error) {
	q := &question{method: "completion/complete", params: []param{{"ref", p.Ref}, {"argument", p.Argument}}}
	if p.Context != nil {
		q.params = append(q.params, param{"context", p.Context})
	}
	raw, err := c.ask(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("complete %s: %w", p.Argument.Name, err)
	}
	var res completeResult
	if err := jsonv2.Unmarshal(raw, &res, checked); err != nil {
		return nil, fmt.Errorf("complete %s: %s", p.Argument.Name, plainError(err))
	}
	if res.Completion == nil {
		return nil, fmt.Errorf("complete %s: the answer holds no completion", p.Argument.Name)
	}
	return res.Completion, nil
}

// Ping asks the server for a sign of life. Revisions without a handshake have no
// ping; there it is server/discover.
func (c *Client) Ping(ctx context.Context) error {
	method := "ping"
	if c.Revision().Stateless() {
		method = "server/discover"
	}
	_, err := c.ask(ctx, &question{method: method})
	return err
}

// Ask sends any request, such as one of an extension, and returns the answer as it
// is. Params is anything that encodes to a JSON object without _meta, or nil.
func (c *Client) Ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := encodeArguments(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	q := &question{method: method}
	for name, v := range jsonrpc.Members(json.RawMessage(raw)) {
		q.params = append(q.params, param{strings.Clone(name), encoded(v)})
	}
	return c.ask(ctx, q)
}

// RootsChanged tells a server of a revision with a handshake that Roots would
// answer differently now. Others ask each time.
func (c *Client) RootsChanged(ctx context.Context) error {
	if c.Revision().Stateless() || c.o.Roots == nil {
		return nil
	}
	return c.notify(ctx, "notifications/roots/list_changed", nil)
}
