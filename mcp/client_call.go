package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// CallOptions configures one request. Nil means the client's options.
type CallOptions struct {
	// Progress is called with progress notifications, before the call returns.
	// If it is nil, the server is not asked for them. It may call the client:
	// see ClientOptions.OnNotify.
	Progress func(ctx context.Context, p Progress)
	// Timeout and MaxTime override those of the client. They do not limit a
	// call that becomes a task; its context does.
	Timeout, MaxTime time.Duration
	// OnTask is called when a tool call becomes a task. With the id,
	// Client.WaitTask can follow it later, also from another process.
	OnTask func(id string)
	// Elicit, Sample and Roots answer the server's questions about this request,
	// in place of those of the client. In revisions in which each request
	// declares capabilities, this one declares them. In older ones the client
	// must have declared them when it connected, and on a pipe, where a question
	// belongs to no request, they answer it only if no other request with
	// functions of its own is in flight. A request that ends there with its
	// context returns when the server has read the cancellation, or after two
	// seconds, so that its question is not taken for that of the next one.
	Elicit func(ctx context.Context, p *ElicitParams) (*ElicitResult, error)
	Sample func(ctx context.Context, p *SampleParams) (*SampleResult, error)
	Roots  func(ctx context.Context) ([]Root, error)
	// NoInherit means that the functions of the client do not answer questions
	// about this request. A question whose function is not set here is then not
	// answered, and in revisions in which each request declares capabilities, this
	// one does not declare it.
	NoInherit bool
	// Meta is added to the request's _meta.
	Meta Meta
}

// Call calls a tool. args must encode to a JSON object; nil means an empty one.
// An error that the tool reports to the model is a result with IsError set, not
// an error.
//
// If ctx ends first, the call is cancelled, unless it has become a task: then
// it continues, and the error is a *TaskError with its id.
func (c *Client) Call(ctx context.Context, tool string, args any, o *CallOptions) (*ToolResult, error) {
	arguments, err := encodeArguments(args)
	if err != nil {
		return nil, fmt.Errorf("call tool %s: %w", tool, err)
	}
	rq := &clientRequest{method: "tools/call", params: []param{{"name", tool}, {"arguments", arguments}}}
	raw, err := c.resolve(ctx, rq, o)
	if err != nil {
		return nil, fmt.Errorf("call tool %s: %w", tool, err)
	}
	return readToolResult(tool, raw)
}

// readToolResult decodes a result that jsonrpc has validated. Most results are
// one block of text, which it decodes without reflection.
func readToolResult(tool string, raw json.RawMessage) (*ToolResult, error) {
	res := &ToolResult{}
	var err error
	for name, v := range rawjson.Members(raw) {
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
	for v := range rawjson.Elements(array) {
		b, plain := readText(v)
		if !plain {
			if err := jsonv2.Unmarshal(v, &b, trusted); err != nil {
				return nil, errors.New(plainError(err))
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// readText decodes a block that has only a type and a text. It returns false
// for any other block.
func readText(block json.RawMessage) (b Content, plain bool) {
	if len(block) == 0 || block[0] != '{' {
		return Content{}, false
	}
	for name, v := range rawjson.Members(block) {
		switch {
		case name == "type" && string(v) == `"text"`:
			b.Type = "text"
		case name == "text" && v[0] == '"':
			b.Text = rawjson.Text(v)
		default:
			return Content{}, false
		}
	}
	return b, b.Type == "text"
}

// readResultMeta decodes a result's _meta, without the server info.
func readResultMeta(raw json.RawMessage) (m Meta, err error) {
	for name, v := range rawjson.Members(raw) {
		if name == metaServerInfo {
			continue
		}
		var value any
		if err := jsonv2.Unmarshal(v, &value, trusted); err != nil {
			return nil, errors.New(plainError(err))
		}
		put((*map[string]any)(&m), strings.Clone(name), value)
	}
	return m, nil
}

// encodeArguments encodes a value that must be an object. It validates a
// json.RawMessage.
func encodeArguments(args any) (rawJSON, error) {
	if raw, ok := args.(json.RawMessage); ok && len(raw) == 0 || args == nil {
		return rawJSON("{}"), nil
	} else if ok {
		args = jsontext.Value(raw)
	}
	b, err := encodeUser(args)
	if err == nil && b[0] != '{' {
		err = errors.New("arguments must encode to a JSON object")
	}
	return rawJSON(b), err
}

// Text returns the text blocks of the result, separated by newlines.
func (r *ToolResult) Text() string {
	var parts []string
	for _, b := range r.Content {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// CallAs calls a tool and decodes its structured content, or its text if there
// is none. If Out is string, it returns the text. An error that the tool
// reports to the model is returned as a *ToolError.
func CallAs[Out any](ctx context.Context, c *Client, tool string, args any, o *CallOptions) (Out, error) {
	var out Out
	res, err := c.Call(ctx, tool, args, o)
	if err != nil {
		return out, err
	}
	if err := res.Err(); err != nil {
		return out, err
	}
	text := res.Text()
	if s, ok := any(&out).(*string); ok && res.StructuredContent == nil {
		*s = text
		return out, nil
	}
	raw := res.StructuredContent
	if raw == nil {
		raw = json.RawMessage(text)
		if !jsontext.Value(raw).IsValid() {
			return out, fmt.Errorf("result of tool %s: its text is not JSON", tool)
		}
	}
	if err := codecFor(reflect.TypeFor[Out]()).decode(raw, &out); err != nil {
		return out, fmt.Errorf("result of tool %s: %s", tool, plainError(err))
	}
	return out, nil
}
