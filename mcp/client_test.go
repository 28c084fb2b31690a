package mcp_test

import (
	"context"
	"fmt"
	"testing"

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
		got, err := mcp.CallAs[out](t.Context(), c, "twice3", in{21})
		if err != nil || got.Twice != 42 {
			t.Errorf("CallAs = %v, %v; want 42", got, err)
		}
		seen := 0.0
		if _, err := c.Call(t.Context(), "twice1", in{1}, &mcp.CallOptions{Progress: func(p mcp.ProgressParams) { seen = p.Progress }}); err != nil || seen != 1 {
			t.Errorf("Call with progress: %v, saw %v; want 1", err, seen)
		}
	})
}
