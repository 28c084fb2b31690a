package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

func TestClient_everyRevision(t *testing.T) {
	type in struct {
		A int `json:"a" jsonschema:"a number"`
	}
	type out struct {
		Twice int `json:"twice"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	for i := range 5 {
		mcp.AddTool(s, mcp.Tool{Name: fmt.Sprintf("twice%d", i), Description: "Double a number."},
			func(_ context.Context, c *mcp.Call, v in) (out, error) {
				c.Progress(1, 2, "half way")
				return out{2 * v.A}, nil
			})
	}
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		n := 0
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("twice%d", n); tool.Name != want {
				t.Errorf("tool %d is %q, want %q", n, tool.Name, want)
			}
			n++
		}
		if n != 5 {
			t.Errorf("listed %d tools, want 5", n)
		}
		got, err := mcp.CallAs[out](t.Context(), c, "twice3", in{21}, nil)
		if err != nil || got.Twice != 42 {
			t.Errorf("CallAs = %v, %v; want 42", got, err)
		}
		seen := 0.0
		if _, err := c.Call(t.Context(), "twice1", in{1}, &mcp.CallOptions{Progress: func(_ context.Context, p mcp.Progress) { seen = p.Progress }}); err != nil || seen != 1 {
			t.Errorf("Call with progress: %v, saw %v; want 1", err, seen)
		}
	})
}

// Mistakes with Durable are told, not hidden.
func TestDurable_misuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var panics []any
		s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{
			Logger:   slog.New(slog.DiscardHandler),
			Observer: mcp.Observer{Panicked: func(v any, _ []byte) { panics = append(panics, v) }},
		})
		t.Cleanup(s.Close)
		mcp.AddTool(s, mcp.Tool{Name: "undeclared", Description: "Calls AsTask without allowing tasks."},
			func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
				return mcp.AsTask(c, func(context.Context, *mcp.Call) (string, error) { return "done", nil })
			})
		asked := make(chan error, 1)
		mcp.AddTool(s, mcp.Tool{Name: "outer", Description: "Asks with the wrong Call.", Tasks: mcp.TaskOptional},
			func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
				return mcp.AsTask(c, func(context.Context, *mcp.Call) (string, error) {
					_, err := mcp.Ask[string](c, "name", "Who?")
					asked <- err
					return "done", nil
				})
			})
		c := mcptest.Connect(t, s, &mcptest.Options{AllowPanic: true, Client: mcp.ClientOptions{Tasks: true}})
		if res, err := c.Call(t.Context(), "undeclared", nil, nil); err != nil || !res.IsError || len(panics) != 1 {
			t.Errorf("Call undeclared = %+v, %v with panics %v; want a failure and one panic", res, err, panics)
		}
		if _, err := c.Call(t.Context(), "outer", nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := <-asked; err == nil || !strings.Contains(err.Error(), "has become a task") {
			t.Errorf("Ask on the outer Call = %v, want an error that says what to use", err)
		}
	})
}
