package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

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

// A question that a server on a pipe asks about a cancelled request is not given to the next request's functions.
func TestForward_lateQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := jsonrpc.Pipe(jsonrpc.Limits{})
		received := make(chan *jsonrpc.Message, 10)
		go func() {
			defer close(received)
			for {
				p, err := two.Receive(context.Background())
				if err != nil {
					return
				}
				received <- p.Message
			}
		}()
		next := func(method string) jsonrpc.ID {
			t.Helper()
			m := <-received
			if m == nil || m.Method != method {
				t.Fatalf("the server received %+v, want %s", m, method)
			}
			return m.ID
		}
		send := func(m *jsonrpc.Message) {
			t.Helper()
			if err := two.Send(t.Context(), jsonrpc.One(m)); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(id int64) string {
			t.Helper()
			send(&jsonrpc.Message{ID: jsonrpc.IntID(id), Method: "elicitation/create", Params: json.RawMessage(`{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}`)})
			m := <-received
			if m == nil || m.ID != jsonrpc.IntID(id) {
				t.Fatalf("the server received %+v, want a response to %d", m, id)
			}
			return string(m.Result)
		}
		answer := func(action string) func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: action}, nil
			}
		}
		go func() {
			send(&jsonrpc.Message{ID: next("initialize"), Result: json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)})
		}()
		c, err := mcp.Connect(t.Context(), one, &mcp.ClientOptions{Revision: mcp.R20250618, Elicit: answer("decline")})
		if err != nil {
			t.Fatal(err)
		}
		next("notifications/initialized")
		call := func(ctx context.Context) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := c.Forward(ctx, "tools/call", json.RawMessage(`{"name":"ask"}`), &mcp.CallOptions{Elicit: answer("accept")})
				done <- err
			}()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		first := call(ctx)
		next("tools/call")
		cancel()
		next("notifications/cancelled")
		ping := next("ping")
		second := call(t.Context())
		id := next("tools/call")
		if got := ask(1); got != `{"action":"decline"}` {
			t.Errorf("while a cancelled call may ask, the answer is %s, want that of the client", got)
		}
		send(&jsonrpc.Message{ID: ping, Result: json.RawMessage(`{}`)})
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call = %v", err)
		}
		if got := ask(2); got != `{"action":"accept","content":{}}` {
			t.Errorf("afterwards the answer is %s, want that of the second call", got)
		}
		send(&jsonrpc.Message{ID: id, Result: json.RawMessage(`{"content":[]}`)})
		if err := <-second; err != nil {
			t.Errorf("the second call = %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		_ = two.Close()
	})
}
