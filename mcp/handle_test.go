package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

type noSink struct{}

func (noSink) Notify(context.Context, string, any) error { return nil }
func (noSink) Call(context.Context, string, any) (json.RawMessage, error) {
	return nil, errors.New("nobody to ask")
}

// A transport of somebody else's settles a request by its exported fields alone.
func TestHandle_fromOutside(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "hello", Description: "Greet."},
		func(context.Context, *mcp.Call, struct{}) (string, error) { return "hello", nil })
	s.AddResource(mcp.Resource{URI: "test://a", Name: "a"},
		func(context.Context, *mcp.Call) ([]mcp.Contents, error) { return []mcp.Contents{{Text: "A"}}, nil })
	for _, r := range mcp.Revisions() {
		for _, c := range []struct{ method, params, want string }{
			{"tools/call", `{"name":"hello"}`, `"text":"hello"`},
			{"resources/read", `{"uri":"test://a"}`, `"text":"A"`},
			{"logging/setLevel", `{"level":"info"}`, "logging/setLevel"},
			{"resources/subscribe", `{"uri":"test://a"}`, "resources/subscribe"},
			{"nonsense", `{}`, "nonsense"},
		} {
			req := &mcp.Request{ID: jsonrpc.IntID(1), Method: c.method, Params: json.RawMessage(c.params), Revision: r}
			b, err := s.Handle(t.Context(), req, noSink{})
			got := string(b)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || strings.Contains(got, "internal") {
				t.Errorf("%s: Handle(%s) = %s, %v; want %s in it", r, c.method, b, err, c.want)
			}
		}
	}
}

// Whatever a model sends as arguments, what it is told stays short.
func TestCall_misfitIsToldInFewWords(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "plain", Description: "Typed."},
		func(context.Context, *mcp.Call, struct {
			A float64 `json:"a" jsonschema:"a number"`
		},
		) (string, error) {
			return "", nil
		})
	s.AddRawTool(mcp.Tool{
		Name: "rich", Description: "A schema with more to it.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","maxLength":3}}}`),
	}, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) { return nil, nil })
	c := mcptest.Connect(t, s, mcp.Newest, nil)
	for _, name := range []string{"plain", "rich"} {
		res, err := c.Call(t.Context(), name, map[string]any{"a": strings.Repeat("y", 900_000)}, nil)
		if err != nil || !res.IsError || len(res.Content[0].Text) > 400 {
			t.Errorf("%s: %d bytes of text, %v; want a short error", name, len(res.Content[0].Text), err)
		}
	}
	if res, err := c.Call(t.Context(), "rich", map[string]any{"a": "abc"}, nil); err != nil || res.IsError {
		t.Errorf("a handler without an answer: %+v, %v; want an empty result", res, err)
	}
}

// A handler may give out the same contents again and again.
func TestRead_sharedContents(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	shared := []mcp.Contents{{Text: "x"}}
	s.AddResource(mcp.Resource{URITemplate: "note://{id}", Name: "notes"},
		func(context.Context, *mcp.Call) ([]mcp.Contents, error) { return shared, nil })
	c := mcptest.Connect(t, s, mcp.Newest, nil)
	for _, uri := range []string{"note://1", "note://2"} {
		got, err := c.Read(t.Context(), uri)
		if err != nil || len(got) != 1 || got[0].URI != uri {
			t.Errorf("Read(%s) = %+v, %v", uri, got, err)
		}
	}
}

func TestCallAs_text(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "hello", Description: "Greet."},
		func(context.Context, *mcp.Call, struct{}) (string, error) { return "hello there", nil })
	mcp.AddTool(s, mcp.Tool{Name: "fail", Description: "Fail."},
		func(context.Context, *mcp.Call, struct{}) (string, error) {
			return "", &mcp.ToolError{Text: "no", Structured: map[string]int{"code": 7}}
		})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		if got, err := mcp.CallAs[string](t.Context(), c, "hello", nil); err != nil || got != "hello there" {
			t.Errorf("CallAs = %q, %v", got, err)
		}
		_, err := mcp.CallAs[string](t.Context(), c, "fail", nil)
		if e, ok := errors.AsType[*mcp.ToolError](err); !ok || e.Text != "no" {
			t.Errorf("CallAs = %v, want the tool's error", err)
		}
	})
}

// A task that nobody answers does not outlive the time in which it can be asked
// for.
func TestDurable_ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
		ended := make(chan time.Duration, 1)
		mcp.AddTool(s, mcp.Tool{Name: "ask", Description: "Ask and wait.", Durable: true},
			func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
				return mcp.Durable(c, func(ctx context.Context, c *mcp.Call) (string, error) {
					began := time.Now()
					context.AfterFunc(ctx, func() { ended <- time.Since(began) })
					return mcp.Ask[string](c, "name", "Who?")
				})
			})
		c := mcptest.Connect(t, s, mcp.Newest, &mcp.ClientOptions{
			Tasks: true,
			Elicit: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				<-ctx.Done() // nobody is there
				return nil, ctx.Err()
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Call(ctx, "ask", nil, nil); err == nil {
			t.Error("Call = nil, want the deadline")
		}
		if took := <-ended; took < time.Hour || took > 2*time.Hour {
			t.Errorf("the run ended after %v, want its hour", took)
		}
		s.Close()
	})
}
