package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/telemetry"
)

type nothing struct{}

// A refusal is what package tools puts into a result's _meta.
type refusal string

func (r refusal) Refusal() string { return string(r) }

// addTools registers a tool for each way in which a call can end.
func addTools(s *mcp.Server) {
	add := func(name string, readOnly bool, f func() (string, error)) {
		mcp.AddTool(s, mcp.Tool{Name: name, Description: "A tool.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}},
			func(context.Context, *mcp.Call, nothing) (string, error) { return f() })
	}
	add("look", true, func() (string, error) { return "seen", nil })
	add("write", false, func() (string, error) { return "written", nil })
	add("fail", false, func() (string, error) { return "", &mcp.ToolError{Text: "no"} })
	add("refuse", false, func() (string, error) { return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "no") })
	add("odd", false, func() (string, error) { return "", jsonrpc.Errorf(4711, "no") })
	add("break", false, func() (string, error) { return "", errors.New("it broke") })
	add("panic", false, func() (string, error) { panic("it panicked") })
	mcp.AddTool(s, mcp.Tool{Name: "deny", Description: "A tool.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.Call, nothing) (*mcp.ToolResult, error) {
			return &mcp.ToolResult{IsError: true, Meta: mcp.Meta{"x": refusal("denied")}}, nil
		})
	s.HandleMethod("own/deny", mcp.Method{NoHandshake: true, Handle: func(context.Context, *mcp.Request) (mcp.Result, error) {
		return nil, fmt.Errorf("%w: not you", board.ErrDenied)
	}})
	s.HandleMethod("own/panic", mcp.Method{NoHandshake: true, Handle: func(context.Context, *mcp.Request) (mcp.Result, error) {
		panic("it panicked")
	}})
	s.AddPrompt(mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.Call) (*mcp.PromptResult, error) {
		return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: mcp.Text("hello")}}}, nil
	})
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "doc:///{name}", Name: "doc"}, func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) {
		return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: "text"}}}, nil
	})
}

// TestMiddleware calls everything in every revision, and looks at what was measured.
func TestMiddleware(t *testing.T) {
	b := newBench(t, telemetry.Options{})
	s := newServer(b)
	addTools(s)
	mcptest.EachRevision(t, s, &mcptest.Options{AllowPanic: true}, func(t *testing.T, c *mcp.Client) {
		ctx := t.Context()
		for _, tool := range []string{"look", "write", "fail", "refuse", "odd", "deny", "break", "panic", "invented-1", "invented-2"} {
			_, _ = c.Call(ctx, tool, nil, nil)
		}
		for _, method := range []string{"own/panic", "own/deny", "own/invented"} {
			_, _ = c.CallMethod(ctx, method, nil, nil)
		}
		if _, err := c.Prompt(ctx, "greet", nil, nil); err != nil {
			t.Error(err)
		}
		_, _ = c.Prompt(ctx, "invented", nil, nil)
		if _, err := c.Read(ctx, "doc:///secret-name", nil); err != nil {
			t.Error(err)
		}
	})
	revisions := float64(len(mcp.Revisions()))

	all := scrape(t, b.Telemetry)
	count := func(method, tool, prompt, err string) string {
		return fmt.Sprintf("mcp_server_operation_duration_seconds_count{error_type=%q,gen_ai_prompt_name=%q,gen_ai_tool_name=%q,mcp_method_name=%q}", err, prompt, tool, method)
	}
	for _, w := range []struct {
		method, tool, prompt, err string
		n                         float64
	}{
		{"tools/call", "look", "", "", 1},
		{"tools/call", "write", "", "", 1},
		{"tools/call", "fail", "", "tool_error", 1},
		{"tools/call", "refuse", "", "-32602", 1},
		{"tools/call", "odd", "", "_OTHER", 1},
		{"tools/call", "break", "", "tool_error", 1},
		{"tools/call", "panic", "", "tool_error", 1},
		{"own/panic", "", "", "panic", 1},
		{"own/deny", "", "", "-32603", 1},
		{"unknown", "", "", "-32601", 1},
		{"tools/call", "unknown", "", "-32602", 2},
		{"prompts/get", "", "greet", "", 1},
		{"prompts/get", "", "unknown", "-32602", 1},
		{"resources/read", "", "", "", 1},
	} {
		wantSeries(t, all, count(w.method, w.tool, w.prompt, w.err), w.n*revisions)
	}
	wantSeries(t, all, "bossman_panics_total", 2*revisions)
	for name := range all {
		if strings.Contains(name, "invented") || strings.Contains(name, "secret-name") {
			t.Errorf("a client's word is in the series %s", name)
		}
	}

	spans := b.ended()
	look := spanNamed(t, spans, "tools/call look")
	got := attributes(look)
	for name, want := range map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "look", "gen_ai.operation.name": "execute_tool",
		"network.transport": "pipe", "bossman.principal": "local", "mcp.protocol.version": "2024-11-05",
	} {
		if got[name] != want {
			t.Errorf("attribute %s = %q, want %q", name, got[name], want)
		}
	}
	if got["jsonrpc.request.id"] == "" {
		t.Error("the span has no jsonrpc.request.id")
	}
	if look.SpanKind() != trace.SpanKindServer || look.Status().Code != codes.Unset {
		t.Errorf("the span is %v with status %v", look.SpanKind(), look.Status())
	}
	for name, want := range map[string][2]string{
		"tools/call fail":   {"tool_error", ""},
		"tools/call refuse": {"-32602", "-32602"},
		"tools/call odd":    {"_OTHER", "4711"},
		"own/panic":         {"panic", "-32603"},
	} {
		s := spanNamed(t, spans, name)
		got := attributes(s)
		if got["error.type"] != want[0] || got["rpc.response.status_code"] != want[1] || s.Status().Code != codes.Error || s.Status().Description != "" {
			t.Errorf("%s: error.type %q, code %q, status %v; want %q", name, got["error.type"], got["rpc.response.status_code"], s.Status(), want)
		}
	}
	if got := attributes(spanNamed(t, spans, "prompts/get greet"))["gen_ai.prompt.name"]; got != "greet" {
		t.Errorf("gen_ai.prompt.name = %q", got)
	}
	if got := attributes(spanNamed(t, spans, "resources/read"))["mcp.resource.uri"]; got != "doc:///{name}" {
		t.Errorf("mcp.resource.uri = %q, want the template", got)
	}
	spanNamed(t, spans, "tools/call") // of an invented one
}

// TestMiddleware_seriesAreBounded registers more tools than there may be series.
func TestMiddleware_seriesAreBounded(t *testing.T) {
	b := newBench(t, telemetry.Options{})
	s := newServer(b)
	c := mcptest.Connect(t, s, nil)
	for i := range telemetry.MaxSeries + 50 {
		name := fmt.Sprintf("tool-%d", i)
		mcp.AddTool(s, mcp.Tool{Name: name, Description: "A tool."}, func(context.Context, *mcp.Call, nothing) (string, error) { return "", nil })
		if _, err := c.Call(t.Context(), name, nil, nil); err != nil {
			t.Fatal(err)
		}
		s.Remove(mcp.KindTool, name)
	}
	n, others := 0, 0.0
	for name, v := range scrape(t, b.Telemetry) {
		if strings.HasPrefix(name, "mcp_server_operation_duration_seconds_count{") {
			n++
			if strings.Contains(name, `gen_ai_tool_name="_OTHER"`) {
				others += v
			}
		}
	}
	if n > telemetry.MaxSeries+10 || others < 50 {
		t.Errorf("%d series, %v calls in the common one; want at most %d and at least 50", n, others, telemetry.MaxSeries+10)
	}
}

// TestMiddleware_traceContext puts trace context into _meta.
func TestMiddleware_traceContext(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	const parent = "00-" + id + "-00f067aa0ba902b7-01"
	for _, c := range []struct {
		name, parent, state string
		joins               bool
		keeps               string // of the state
	}{
		{"valid", parent, "vendor=value", true, "vendor=value"},
		{"no state", parent, "", true, ""},
		{"a state that is none", parent, "no;state at all", true, ""},
		{"a state that is too long", parent, "v=" + strings.Repeat("x", 600), true, ""},
		{"upper case", strings.ToUpper(parent), "", false, ""},
		{"too short", parent[:54], "", false, ""},
		{"too long", parent + "-" + strings.Repeat("0", 200), "", false, ""},
		{"zeroes", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "", false, ""},
		{"a line break", "00-" + id + "-00f067aa0ba902b7-01\n", "", false, ""},
		{"nothing", "", "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, telemetry.Options{})
			s := newServer(b)
			addTools(s)
			for _, r := range []mcp.Revision{mcp.R20241105, mcp.LatestRevision} {
				b.spans.Reset()
				client := mcptest.Connect(t, s, &mcptest.Options{Revision: r})
				meta := mcp.Meta{}
				if c.parent != "" {
					meta["traceparent"] = c.parent
				}
				if c.state != "" {
					meta["tracestate"] = c.state
				}
				if _, err := client.Call(t.Context(), "look", nil, &mcp.CallOptions{Meta: meta}); err != nil {
					t.Fatal(err)
				}
				span := spanNamed(t, b.ended(), "tools/call look")
				joined := span.SpanContext().TraceID().String() == id && span.Parent().IsRemote()
				if joined != c.joins {
					t.Errorf("%s: joined the trace: %v, want %v", r, joined, c.joins)
				}
				if got := span.SpanContext().TraceState().String(); got != c.keeps {
					t.Errorf("%s: state %q, want %q", r, got, c.keeps)
				}
			}
		})
	}

	t.Run("other types", func(t *testing.T) {
		b := newBench(t, telemetry.Options{})
		s := newServer(b)
		addTools(s)
		client := mcptest.Connect(t, s, nil)
		for _, v := range []any{1, nil, []string{parent}, map[string]any{"traceparent": parent}} {
			if _, err := client.Call(t.Context(), "look", nil, &mcp.CallOptions{Meta: mcp.Meta{"traceparent": v, "baggage": v}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range b.ended() {
			if s.SpanContext.TraceID().String() == id {
				t.Error("joined a trace that is none")
			}
		}
	})
}

// TestClientObserver follows a trace from a client into a server.
func TestClientObserver(t *testing.T) {
	b := newBench(t, telemetry.Options{})
	s := newServer(b)
	addTools(s)
	mcptest.EachRevision(t, s, &mcptest.Options{Client: mcp.ClientOptions{Observe: b.ClientObserver()}}, func(t *testing.T, c *mcp.Client) {
		b.ended()
		b.spans.Reset()
		if _, err := c.Call(t.Context(), "look", nil, nil); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Call(t.Context(), "refuse", nil, nil)
		var ours, theirs trace.SpanContext
		for _, span := range b.ended() {
			if span.Name != "tools/call look" {
				continue
			}
			if span.SpanKind == trace.SpanKindClient {
				ours = span.SpanContext
			} else {
				theirs = span.Parent
			}
		}
		if !ours.IsValid() || ours.TraceID() != theirs.TraceID() || ours.SpanID() != theirs.SpanID() {
			t.Errorf("the server's span has the parent %v, the client's is %v", theirs, ours)
		}
	})
	all := scrape(t, b.Telemetry)
	wantSeries(t, all, `mcp_client_operation_duration_seconds_count{error_type="",gen_ai_prompt_name="",gen_ai_tool_name="",mcp_method_name="tools/call"}`, 5)
	wantSeries(t, all, `mcp_client_operation_duration_seconds_count{error_type="-32602",gen_ai_prompt_name="",gen_ai_tool_name="",mcp_method_name="tools/call"}`, 5)
}
