package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// use adds middleware that is told the method, and what the server answered.
func use(s *mcp.Server, before func(r *mcp.Request) error, after func(r *mcp.Request, res mcp.Result, err error) mcp.Result) {
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			if before != nil {
				if err := before(r); err != nil {
					return nil, err
				}
			}
			res, err := next(ctx, r)
			if after != nil {
				res = after(r, res, err)
			}
			return res, err
		}
	})
}

// Middleware replaces arguments; the tool's schema still holds.
func TestRequest_setArguments(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(s, mcp.Tool{Name: "echo", Description: "Echo."}, func(_ context.Context, c *mcp.Call, in struct {
		Text string `json:"text" jsonschema:"text"`
		N    int    `json:"n" jsonschema:"n" default:"1"`
	},
	) (string, error) {
		return fmt.Sprint(in.Text, in.N, string(c.Meta("com.example/k"))), nil
	})
	s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a", Required: true}}}, func(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
		return &mcp.PromptResult{Description: c.Argument("a")}, nil
	})
	var by, seen json.RawMessage
	use(s, func(r *mcp.Request) error {
		seen = slices.Clone(r.Arguments())
		if r.Method != "tools/call" && r.Method != "prompts/get" {
			if r.Arguments() != nil || r.SetArguments(json.RawMessage(`{}`)) == nil {
				t.Errorf("%s has arguments", r.Method)
			}
			return nil
		}
		for _, bad := range []string{``, `null`, `[]`, `{`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{} {}`} {
			if r.SetArguments(json.RawMessage(bad)) == nil || r.SetParams(json.RawMessage(bad)) == nil {
				t.Errorf("%q was taken", bad)
			}
		}
		if by == nil {
			return nil
		}
		return r.SetArguments(by)
	}, nil)
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		call := func(args any) string {
			res, err := c.Call(t.Context(), "echo", args, &mcp.CallOptions{Meta: mcp.Meta{"com.example/k": 7}})
			if err != nil {
				return err.Error()
			}
			return res.Text()
		}
		by = json.RawMessage(` {"text":"<b>"} `)
		if got := call(map[string]any{"text": "a", "n": 9}); got != "<b>17" || string(seen) != `{"n":9,"text":"a"}` {
			t.Errorf("echo = %s, and middleware has seen %s", got, seen)
		}
		if got := call(map[string]any{"nonsense": 1}); got != "<b>17" {
			t.Errorf("echo = %s", got)
		}
		by = json.RawMessage(`{"text":5}`)
		if got := call(map[string]any{"text": "a"}); !strings.Contains(got, "invalid arguments: text: want a string, got a number") {
			t.Errorf("echo = %s", got)
		}
		by = json.RawMessage(`{"a":"replaced"}`)
		if p, err := c.Prompt(t.Context(), "p", map[string]string{"a": "sent"}, nil); err != nil || p.Description != "replaced" || string(seen) != `{"a":"sent"}` {
			t.Errorf("prompt = %v, %v, and middleware has seen %s", p, err, seen)
		}
		by = nil
		if got := call(map[string]any{"text": "a"}); got != "a17" {
			t.Errorf("echo = %s", got)
		}
	})
}

// A question may be asked while middleware replaces the arguments: the client's answer belongs to
// what the client sent. Middleware sees the question where the client retries.
func TestRequest_setArgumentsWhileAsking(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "greet", Description: "Greet."}, func(_ context.Context, c *mcp.Call, in struct {
		Word string `json:"word" jsonschema:"word"`
	},
	) (string, error) {
		name, err := mcp.Ask[string](c, "name", "What is your name?")
		return in.Word + " " + name, err
	})
	n, asked := 0, 0
	use(s, func(r *mcp.Request) error {
		if n++; r.Method == "tools/call" {
			return r.SetArguments(fmt.Appendf(nil, `{"word":"hello%d"}`, n)) // another one each time
		}
		return nil
	}, func(r *mcp.Request, res mcp.Result, err error) mcp.Result {
		if q, ok := res.(*mcp.InputRequired); ok {
			asked++
			in := q.Requests["name"]
			if in.Method != "elicitation/create" || !strings.Contains(string(in.Params), "What is your name?") || q.State == "" {
				t.Errorf("the question is %+v", q)
			}
			in.Params = json.RawMessage(strings.ReplaceAll(string(in.Params), "your name", "your first name"))
			return &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"name": in}, State: q.State}
		}
		return res
	})
	var message string
	o := &mcp.ClientOptions{Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		message = p.Message
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
	}}
	for _, r := range mcp.Revisions() {
		if r < mcp.R20250618 {
			continue
		}
		c := mcptest.Connect(t, s, &mcptest.Options{Revision: r, Client: *o})
		asked = 0
		got, err := mcp.CallAs[string](t.Context(), c, "greet", map[string]any{"word": "hi"}, nil)
		if err != nil || !strings.HasPrefix(got, "hello") || !strings.HasSuffix(got, " Ada") {
			t.Errorf("%s: greet = %s, %v", r, got, err)
		}
		if stateless := r.Stateless(); stateless != (asked == 1) || stateless != strings.Contains(message, "first name") {
			t.Errorf("%s: middleware has seen %d questions, and the client %q", r, asked, message)
		}
	}
}

// Middleware removes and replaces the items of lists.
func TestListResult(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	for _, name := range []string{"a", "b", "c", "d"} {
		mcp.AddTool(s, mcp.Tool{Name: name, Description: "Tool " + name + "."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return name, nil })
		s.AddPrompt(mcp.Prompt{Name: name}, nil)
		s.AddResource(mcp.Resource{Name: name, URI: "test://" + name}, nil)
		s.AddResourceTemplate(mcp.ResourceTemplate{Name: name, URITemplate: "test://" + name + "/{x}"}, nil)
	}
	s.AddRawTool(mcp.Tool{
		Name: "shaped", Description: "Has a schema that older clients refuse.", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":true}}`),
	}, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) { return nil, nil })
	kinds := map[string]int{}
	use(s, nil, func(r *mcp.Request, res mcp.Result, err error) mcp.Result {
		switch l := res.(type) {
		case *mcp.ListResult[mcp.Tool]:
			kinds[r.Method]++
			c := *l
			c.Meta = mcp.Meta{"com.example/k": "v"}
			c.Items = slices.DeleteFunc(slices.Clone(l.Items), func(t *mcp.Tool) bool { return t.Name == "c" })
			for i, t := range c.Items {
				if t.Name == "b" || t.Name == "shaped" {
					changed := *t
					changed.Description = "Changed."
					c.Items[i] = &changed
				}
			}
			return &c
		case *mcp.ListResult[mcp.Prompt]:
			kinds[r.Method]++
			slices.Reverse(l.Items)
		case *mcp.ListResult[mcp.Resource]:
			kinds[r.Method]++
			return &mcp.ListResult[mcp.Resource]{Items: l.Items[:1], Private: true}
		case *mcp.ListResult[mcp.ResourceTemplate]:
			kinds[r.Method]++
			return &mcp.ListResult[mcp.ResourceTemplate]{Items: l.Items[:1], Private: true}
		}
		return res
	})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		clear(kinds)
		var got []string
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, tool.Name+" "+tool.Description)
			if old := c.Revision() < mcp.R20260728; tool.Name == "shaped" && old != strings.Contains(string(tool.InputSchema), `"x":{}`) {
				t.Errorf("the schema is %s", tool.InputSchema)
			}
		}
		if want := []string{"a Tool a.", "b Changed.", "d Tool d.", "shaped Changed."}; !slices.Equal(got, want) {
			t.Errorf("the tools are %q, want %q", got, want)
		}
		got = nil
		for p, err := range c.Prompts(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p.Name)
		}
		if want := []string{"b", "a", "d", "c"}; !slices.Equal(got, want) {
			t.Errorf("the prompts are %q, want %q", got, want)
		}
		got = nil
		for r, err := range c.Resources(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.URI)
		}
		for r, err := range c.ResourceTemplates(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.URITemplate)
		}
		if want := []string{"test://a", "test://a/{x}"}; !slices.Equal(got, want) {
			t.Errorf("the resources are %q, want %q", got, want)
		}
		if len(kinds) != 4 || kinds["tools/list"] != 3 {
			t.Errorf("middleware has seen %v", kinds)
		}
	})
}

// Middleware gets the error of a tool's handler itself, and a client what the model is shown.
func TestToolResult_Err(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	secret := fmt.Errorf("open /secret: %w", fs.ErrPermission)
	cases := map[string]struct {
		err   error
		text  string
		is    error
		isRPC bool
	}{
		"none":      {},
		"errorf":    {mcp.Errorf("cannot read %q: %w", "a", fs.ErrNotExist), `cannot read "a": file does not exist`, fs.ErrNotExist, false},
		"two":       {mcp.Errorf("%w and %w", fs.ErrNotExist, io.EOF), "file does not exist and EOF", io.EOF, false},
		"plain":     {mcp.Errorf("no"), "no", nil, false},
		"internal":  {secret, "Internal error: ref ", fs.ErrPermission, false},
		"declined":  {mcp.ErrDeclined, "declined by the user", mcp.ErrDeclined, false},
		"wraps-rpc": {mcp.Errorf("upstream: %w", jsonrpc.Errorf(-32000, "boom")), "upstream: boom (-32000)", nil, false},
		"rpc":       {fmt.Errorf("x: %w", jsonrpc.Errorf(-32000, "boom")), "boom", nil, true},
		"within":    {fmt.Errorf("x: %w", mcp.Errorf("inner: %w", io.EOF)), "inner: EOF", io.EOF, false},
	}
	for name, c := range cases {
		mcp.AddTool(s, mcp.Tool{Name: name, Description: "Test."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "ok", c.err })
	}
	s.AddRawTool(mcp.Tool{Name: "result", Description: "Test."}, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{IsError: true, Content: []mcp.Content{mcp.Text("raw")}, StructuredContent: json.RawMessage(`{"a":1}`)}, nil
	})
	var seen error
	use(s, nil, func(r *mcp.Request, res mcp.Result, err error) mcp.Result {
		if tr, ok := res.(*mcp.ToolResult); ok {
			seen = tr.Err()
		}
		return res
	})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		for name, want := range cases {
			seen = nil
			res, err := c.Call(t.Context(), name, nil, nil)
			if want.isRPC {
				if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Message != want.text {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(name, err)
			}
			if seen != want.err || want.is != nil && !errors.Is(seen, want.is) {
				t.Errorf("%s: middleware has seen %v", name, seen)
			}
			e, ok := errors.AsType[*mcp.ToolError](res.Err())
			if want.err == nil && res.Err() != nil || want.err != nil && (!ok || !strings.HasPrefix(e.Text, want.text) || strings.Contains(e.Text, "secret")) {
				t.Errorf("%s: the client has %v", name, res.Err())
			}
		}
		res, err := c.Call(t.Context(), "result", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := errors.AsType[*mcp.ToolError](res.Err()); !ok || e.Text != "raw" {
			t.Errorf("result: %v", res.Err())
		}
		if e, ok := errors.AsType[*mcp.ToolError](seen); !ok || e.Text != "raw" || string(e.Structured.(json.RawMessage)) != `{"a":1}` {
			t.Errorf("result: middleware has seen %v", seen)
		}
	})
}

// Middleware sees what was read of a resource, and can replace it. Its metadata reaches the client.
func TestMiddleware_resourceResult(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	s.AddResource(mcp.Resource{URI: "a://b", Name: "b", MIMEType: "text/plain"}, func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) {
		return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: "secret"}}, Meta: mcp.Meta{"example.com/x": "y"}}, nil
	})
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, r)
			if read, ok := res.(*mcp.ResourceResult); ok {
				clean := *read
				clean.Contents = []mcp.ResourceContents{{URI: read.Contents[0].URI, MIMEType: read.Contents[0].MIMEType, Text: "***"}}
				return &clean, err
			}
			return res, err
		}
	})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		got, err := c.Read(t.Context(), "a://b", nil)
		if err != nil || got.Text() != "***" || got.Contents[0].MIMEType != "text/plain" || got.Meta["example.com/x"] != "y" {
			t.Errorf("Read = %+v, %v; want it redacted, with its metadata", got, err)
		}
	})
}
