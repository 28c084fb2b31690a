package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

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
	c := mcptest.Connect(t, s, nil)
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
	shared := &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: "x"}}}
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://{id}", Name: "notes"},
		func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) { return shared, nil })
	c := mcptest.Connect(t, s, nil)
	for _, uri := range []string{"note://1", "note://2"} {
		got, err := c.Read(t.Context(), uri, nil)
		if err != nil || len(got.Contents) != 1 || got.Contents[0].URI != uri {
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
		if got, err := mcp.CallAs[string](t.Context(), c, "hello", nil, nil); err != nil || got != "hello there" {
			t.Errorf("CallAs = %q, %v", got, err)
		}
		_, err := mcp.CallAs[string](t.Context(), c, "fail", nil, nil)
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
		mcp.AddTool(s, mcp.Tool{Name: "ask", Description: "Ask and wait.", Tasks: mcp.TaskOptional},
			func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
				return mcp.AsTask(c, func(ctx context.Context, c *mcp.Call) (string, error) {
					began := time.Now()
					context.AfterFunc(ctx, func() { ended <- time.Since(began) })
					return mcp.Ask[string](c, "name", "Who?")
				})
			})
		c := mcptest.Connect(t, s, &mcptest.Options{Client: mcp.ClientOptions{
			Tasks: true,
			Elicit: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				<-ctx.Done() // nobody is there
				return nil, ctx.Err()
			},
		}})
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
