package mcp_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

const uiExtension = "io.modelcontextprotocol/ui"

// Capabilities are declared beside those that the functions of the client declare, in every
// revision. Nothing is declared that no function answers.
func TestClientOptions_capabilities(t *testing.T) {
	var seen mcp.ClientCapabilities
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			seen = r.Capabilities
			return next(ctx, r)
		}
	})
	mcp.AddTool(s, mcp.Tool{Name: "t", Description: "A tool."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	yes := &struct{}{}
	declared := mcp.ClientCapabilities{
		Experimental: map[string]json.RawMessage{"example.com/x": json.RawMessage(`{"y":1}`)},
		Extensions:   map[string]json.RawMessage{uiExtension: json.RawMessage(`{"mimeTypes":["text/html;profile=mcp-app"]}`)},
		Sampling:     &mcp.SamplingCapability{Tools: yes},
		Roots:        &mcp.RootsCapability{ListChanged: true},
		Elicitation:  &mcp.ElicitationCapability{URL: yes},
	}
	mcptest.EachRevision(t, s, &mcptest.Options{Client: mcp.ClientOptions{Tasks: true, Capabilities: declared, Sample: func(context.Context, *mcp.SampleParams) (*mcp.SampleResult, error) {
		return nil, nil
	}}}, func(t *testing.T, c *mcp.Client) {
		if _, err := c.Call(t.Context(), "t", nil, nil); err != nil {
			t.Fatal(err)
		}
		_, tasks := seen.Extensions["io.modelcontextprotocol/tasks"]
		if string(seen.Extensions[uiExtension]) != string(declared.Extensions[uiExtension]) || tasks != c.Revision().Stateless() {
			t.Errorf("the server sees the extensions %s", seen.Extensions)
		}
		if !reflect.DeepEqual(seen.Experimental, declared.Experimental) || seen.Sampling == nil || seen.Sampling.Tools == nil {
			t.Errorf("the server sees %+v, want what was declared", seen)
		}
		if seen.Roots != nil || seen.Elicitation != nil {
			t.Errorf("the server sees %+v, which nothing answers", seen)
		}
	})
	if len(declared.Extensions) != 1 {
		t.Errorf("the caller's map was changed: %v", declared.Extensions)
	}
}

// What is declared must be objects. A mistake is reported before anything is sent.
func TestClientOptions_badCapabilities(t *testing.T) {
	for _, settings := range []string{`true`, `{`, ``, `{"a":1,"a":2}`} {
		near, far := jsonrpc.Pipe(jsonrpc.Limits{})
		_, err := mcp.Connect(t.Context(), near, &mcp.ClientOptions{Capabilities: mcp.ClientCapabilities{
			Extensions: map[string]json.RawMessage{uiExtension: json.RawMessage(settings)},
		}})
		if err == nil || !strings.Contains(err.Error(), uiExtension) {
			t.Errorf("Connect with settings %q = %v, want an error that names the extension", settings, err)
		}
		_ = far.Close()
	}
}

// A server can use tools in sampling with a client that declares that, and is refused by others.
func TestSample_tools(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "t", Description: "A tool."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		res, err := c.Sample("s", &mcp.SampleParams{MaxTokens: 5, Messages: []mcp.SampleMessage{{Role: "user", Content: mcp.Blocks{mcp.Text("hi")}}}, Tools: []mcp.Tool{{Name: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}}})
		if err != nil {
			return "", err
		}
		return res.Content[0].Text, nil
	})
	sample := func(_ context.Context, p *mcp.SampleParams) (*mcp.SampleResult, error) {
		return &mcp.SampleResult{Role: "assistant", Model: "m", Content: mcp.Blocks{mcp.Text("with " + p.Tools[0].Name)}}, nil
	}
	for _, r := range []mcp.Revision{mcp.R20251125, mcp.R20260728} {
		can := &mcp.ClientOptions{Sample: sample, Capabilities: mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: &struct{}{}}}}
		if got, err := mcp.CallAs[string](t.Context(), mcptest.Connect(t, s, &mcptest.Options{Revision: r, Client: *can}), "t", nil, nil); err != nil || got != "with x" {
			t.Errorf("%s: Call = %q, %v", r, got, err)
		}
		if got, err := mcp.CallAs[string](t.Context(), mcptest.Connect(t, s, &mcptest.Options{Revision: r, Client: mcp.ClientOptions{Sample: sample}}), "t", nil, nil); err == nil {
			t.Errorf("%s: Call of a client without sampling.tools = %q, want an error", r, got)
		}
	}
	// A server that does not look at the capabilities is refused by the client.
	asked := make(chan *jsonrpc.Message, 1)
	near, far := jsonrpc.Pipe(jsonrpc.Limits{})
	go func() {
		for {
			p, err := far.Receive(context.Background())
			if err != nil {
				return
			}
			switch m := p.Message; {
			case m.Method == "initialize":
				_ = far.Send(context.Background(), jsonrpc.One(&jsonrpc.Message{ID: m.ID, Result: json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)}))
			case m.Method == "notifications/initialized":
				_ = far.Send(context.Background(), jsonrpc.One(&jsonrpc.Message{ID: jsonrpc.IntID(7), Method: "sampling/createMessage", Params: json.RawMessage(`{"messages":[],"maxTokens":1,"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)}))
			case m.IsResponse():
				asked <- m
			}
		}
	}()
	c, err := mcp.Connect(t.Context(), near, &mcp.ClientOptions{Revision: mcp.R20251125, Sample: sample})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if m := <-asked; m.Error == nil || m.Error.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("the client answered %s, %v; want invalid params", m.Result, m.Error)
	}
}
