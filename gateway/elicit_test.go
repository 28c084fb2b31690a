package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// asker is an upstream with a tool that shows the caller a form, and returns the action of the answer.
func asker(ctx context.Context, transport jsonrpc.Transport, form string) {
	var call *jsonrpc.Message
	for {
		p, err := transport.Receive(ctx)
		if err != nil {
			return
		}
		m := p.Message
		if m == nil {
			continue
		}
		answer := &jsonrpc.Message{ID: m.ID}
		switch {
		case m.Method == "initialize":
			answer.Result = json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
		case m.Method == "tools/list":
			answer.Result = json.RawMessage(`{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}`)
		case m.Method == "tools/call":
			call = m
			answer = &jsonrpc.Message{ID: jsonrpc.StringID("q"), Method: "elicitation/create", Params: json.RawMessage(`{"message":"Who?","requestedSchema":` + form + `}`)}
		case m.Method == "" && call != nil:
			var a struct{ Action string }
			_ = json.Unmarshal(m.Result, &a)
			answer = &jsonrpc.Message{ID: call.ID, Result: json.RawMessage(`{"content":[{"type":"text","text":"` + a.Action + `"}]}`)}
		case m.IsRequest():
			answer.Error = jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "no")
		default:
			continue
		}
		if transport.Send(ctx, jsonrpc.One(answer)) != nil {
			return
		}
	}
}

// A form that cannot be checked within bounds is shown to nobody; the call goes on.
func TestElicit_endlessForm(t *testing.T) {
	for form, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                         "accept",
		`{"type":"object","$ref":"#"}`:                                                   "cancel",
		`{"type":"object","properties":{"a":{"type":"string","$ref":"#/properties/a"}}}`: "cancel",
	} {
		g, err := New(t.Context(), []Upstream{{Name: "up", Command: []string{"up"}, Max: 1, Timeout: time.Minute, Idle: time.Minute, List: "real"}}, &Options{
			TrustFirst: true, Logger: slog.New(slog.DiscardHandler), Scratch: func() (string, error) { return t.TempDir(), nil },
			Start: func(ctx context.Context, _ *mcp.Command, o *mcp.ClientOptions) (*mcp.Client, error) {
				one, two := jsonrpc.Pipe(jsonrpc.Limits{})
				go asker(t.Context(), two, form)
				o.Revision = mcp.R20250618
				return mcp.Connect(ctx, one, o)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		server := mcp.NewServer(mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ServerOptions{Visible: g.Visible, Logger: slog.New(slog.DiscardHandler)})
		g.Attach(server)
		if err := g.Refresh(t.Context(), "up"); err != nil {
			t.Fatal(err)
		}
		eachRevision(t, server, &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"a":"x"}`)}, nil
		}}, func(t *testing.T, c *mcp.Client) {
			if c.Revision() < mcp.R20250618 {
				return
			}
			res, err := c.Call(t.Context(), "call_tool", map[string]any{"name": "up__ask"}, nil)
			if err != nil || len(res.Content) == 0 || res.Content[0].Text != want {
				t.Errorf("%s: %+v, %v; want %s", form, res, err, want)
			}
		})
	}
}

// A form is shown to a person alone: where nobody sits at the caller's client, the guard's people are asked.
func TestElicit_nobodyThere(t *testing.T) {
	up := quietServer()
	mcp.AddTool(up, mcp.Tool{Name: "pay", Description: "Pay."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		res, err := c.Elicit("sure", &mcp.ElicitParams{Message: "Pay?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}, nil)
		if err != nil {
			return "", err
		}
		return res.Action, nil
	})
	client := &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		t.Error("the model was asked")
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{}`)}, nil
	}}
	l := newLab(t, map[string]*mcp.Server{"up": up}, mcp.R20251125, &Options{TrustFirst: true, Guard: &testGuard{quiet: true}})
	eachRevision(t, l.server, client, func(t *testing.T, c *mcp.Client) {
		res, err := c.Call(t.Context(), "up__pay", nil, nil)
		if err != nil || len(res.Content) == 0 || res.Content[0].Text != "cancel" {
			t.Errorf("Call = %+v, %v", res, err)
		}
	})
}
