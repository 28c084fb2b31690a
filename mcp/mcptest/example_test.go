package mcptest_test

import (
	"context"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

func newGreeter() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "greet", Description: "Greet the user."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			name, err := mcp.Ask[string](c, "name", "What is your name?")
			return "Hello, " + name + "!", err
		})
	return s
}

// A test of a tool that asks the user, in every revision in which it can.
func Example() {
	testGreet := func(t *testing.T) {
		o := &mcptest.Options{Answers: []mcptest.Answer{{To: "name", With: "Ada"}}}
		mcptest.EachRevision(t, newGreeter(), o, func(t *testing.T, c *mcp.Client) {
			if got := mcptest.Call[string](t, c, "greet", nil); got != "Hello, Ada!" {
				t.Errorf("greet = %q, want Hello, Ada!", got)
			}
		})
	}
	_ = testGreet // in a test file: func TestGreet(t *testing.T) { … }
}

func TestExample(t *testing.T) {
	o := &mcptest.Options{Answers: []mcptest.Answer{{To: "name", With: "Ada"}}}
	mcptest.EachRevision(t, newGreeter(), o, func(t *testing.T, c *mcp.Client) {
		if got := mcptest.Call[string](t, c, "greet", nil); got != "Hello, Ada!" {
			t.Errorf("greet = %q, want Hello, Ada!", got)
		}
	})
}
