package ours

import (
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

func TestDrawAndOrder(t *testing.T) {
	s := New(nil, new(Counts))
	o := &mcptest.Options{Answers: []mcptest.Answer{{To: "Which size?", With: "M"}}}
	mcptest.EachRevision(t, s, o, func(t *testing.T, c *mcp.Client) {
		if got := mcptest.Call[drawn](t, c, "draw", map[string]any{"topic": "a cat"}); got.Summary != "a cat in ink, 4 steps" {
			t.Errorf("draw = %q", got.Summary)
		}
		if got := mcptest.Call[string](t, c, "order", nil); got != "ordered size M" {
			t.Errorf("order = %q", got)
		}
	})
}
