package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// What is forwarded arrives as it is, and so do results and errors. Questions go to functions of the
// request.
func TestForward(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	var params, meta json.RawMessage
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			if r.Method == "tools/call" {
				params, meta = r.Params(), r.Meta("example.com/x")
			}
			switch r.Target().Name {
			case "hologram":
				return json.RawMessage(`{"content":[{"type":"hologram","depth":1.0}],"extra":{"b":1,"a":2}}`), nil
			case "refuses":
				return nil, jsonrpc.Errorf(-32077, "not today").With(map[string]int{"retry": 5})
			}
			return next(ctx, r)
		}
	})
	for _, name := range []string{"hologram", "refuses"} {
		s.AddRawTool(mcp.Tool{Name: name, Description: "A tool."}, nil)
	}
	mcp.AddTool(s, mcp.Tool{Name: "ask", Description: "Ask."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		c.Progress(1, 1, "")
		name, err := mcp.Ask[string](c, "name", "Who?")
		return "Hello, " + name, err
	})
	client := &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}}
	mcptest.EachRevision(t, s, &mcptest.Options{Client: *client}, func(t *testing.T, c *mcp.Client) {
		const in = `{"name": "hologram", "arguments": {"z": 1e2,
			"a": "\u00e9"}, "_meta": {"progressToken": 99, "example.com/x": {"n": 1.50}, "io.modelcontextprotocol/protocolVersion": "1999-01-01"}}`
		got, err := c.Forward(t.Context(), "tools/call", json.RawMessage(in), nil)
		if err != nil || !strings.Contains(string(got), `"content":[{"type":"hologram","depth":1.0}],"extra":{"b":1,"a":2}`) {
			t.Errorf("Forward = %s, %v", got, err)
		}
		if !strings.Contains(string(params), `"arguments":{"z":1e2,"a":"\u00e9"}`) || string(meta) != `{"n":1.50}` || strings.Contains(string(params), "99") {
			t.Errorf("the server got %s", params)
		}
		_, err = c.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"refuses"}`), nil)
		if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || err != error(e) || e.Code != -32077 || string(e.Data) != `{"retry":5}` {
			t.Errorf("Forward of what is refused = %v, want the error as it is", err)
		}
		steps := 0
		o := &mcp.CallOptions{
			Meta:     mcp.Meta{"example.com/x": "mine"},
			Progress: func(context.Context, mcp.Progress) { steps++ },
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
			},
		}
		got, err = c.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"ask","_meta":{"example.com/x":1}}`), o)
		if c.Revision() < mcp.R20250618 { // which has no such question
			if err != nil || !strings.Contains(string(got), `"isError":true`) {
				t.Errorf("Forward of a question = %s, %v", got, err)
			}
		} else if err != nil || !strings.Contains(string(got), "Hello, Ada") || steps == 0 || string(meta) != `"mine"` {
			t.Errorf("Forward with functions = %s, %v; progress %d times, metadata %s", got, err, steps, meta)
		}
		for _, bad := range []string{`[]`, `{`, `{"a":1,"a":2}`, `1`} {
			if _, err := c.Forward(t.Context(), "tools/call", json.RawMessage(bad), nil); err == nil {
				t.Errorf("Forward of %s = nil", bad)
			}
		}
	})
	// From 2026-07-28 on a request can declare what its client did not.
	c := mcptest.Connect(t, s, &mcptest.Options{Revision: mcp.R20260728})
	o := &mcp.CallOptions{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"Bo"}`)}, nil
	}}
	if got, err := c.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"ask"}`), o); err != nil || !strings.Contains(string(got), "Hello, Bo") {
		t.Errorf("Forward = %s, %v", got, err)
	}
	if got, err := mcp.CallAs[string](t.Context(), c, "ask", nil, o); err != nil || got != "Hello, Bo" {
		t.Errorf("CallAs = %q, %v", got, err)
	}
	if got, err := c.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"ask"}`), nil); err == nil {
		t.Errorf("Forward without functions = %s, want that a capability is missing", got)
	}
}
