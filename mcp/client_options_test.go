package mcp_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// Every request of a client takes options: metadata, progress and a time limit.
func TestCallOptions_everyRequest(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		Complete: func(context.Context, *mcp.Call, *mcp.CompleteParams) (*mcp.Completion, error) {
			return &mcp.Completion{Values: []string{"a"}}, nil
		},
	})
	var seen []string
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			if string(r.Meta("example.com/trace")) == `"t1"` {
				seen = append(seen, r.Method)
			}
			if string(r.Meta("example.com/hang")) == `true` {
				<-ctx.Done()
			}
			return next(ctx, r)
		}
	})
	mcp.AddTool(s, mcp.Tool{Name: "tool", Description: "A tool."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		c.Progress(1, 1, "")
		return "x", nil
	})
	s.AddResource(mcp.Resource{URI: "a://b", Name: "b"}, func(_ context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
		c.Progress(1, 1, "")
		return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: "b"}}}, nil
	})
	s.AddPrompt(mcp.Prompt{Name: "p"}, func(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
		c.Progress(1, 1, "")
		return &mcp.PromptResult{}, nil
	})
	s.HandleMethod("own/method", mcp.Method{Handle: func(context.Context, *mcp.Request) (mcp.Result, error) { return nil, nil }})
	requests := map[string]func(context.Context, *mcp.Client, *mcp.CallOptions) error{
		"tools/call": func(ctx context.Context, c *mcp.Client, o *mcp.CallOptions) error {
			_, err := mcp.CallAs[string](ctx, c, "tool", nil, o)
			return err
		},
		"resources/read": func(ctx context.Context, c *mcp.Client, o *mcp.CallOptions) error {
			res, err := c.Read(ctx, "a://b", o)
			if err == nil && (res.Text() != "b" || res.Meta != nil) {
				t.Errorf("Read = %+v, want b and no metadata", res)
			}
			return err
		},
		"prompts/get": func(ctx context.Context, c *mcp.Client, o *mcp.CallOptions) error {
			_, err := c.Prompt(ctx, "p", nil, o)
			return err
		},
		"completion/complete": func(ctx context.Context, c *mcp.Client, o *mcp.CallOptions) error {
			_, err := c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.CompleteRef{Type: "ref/prompt", Name: "p"}, Argument: mcp.CompleteArgument{Name: "a"}}, o)
			return err
		},
		"own/method": func(ctx context.Context, c *mcp.Client, o *mcp.CallOptions) error {
			_, err := c.CallMethod(ctx, "own/method", map[string]any{"x": 1}, o)
			return err
		},
	}
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		for method, send := range requests {
			seen = nil
			steps := 0
			err := send(t.Context(), c, &mcp.CallOptions{
				Meta:     mcp.Meta{"example.com/trace": "t1"},
				Progress: func(context.Context, mcp.Progress) { steps++ },
			})
			wantSteps := 1
			if method == "own/method" || method == "completion/complete" {
				wantSteps = 0
			}
			if err != nil || !slices.Equal(seen, []string{method}) || steps != wantSteps {
				t.Errorf("%s = %v; the server saw %v, progress %d times", method, err, seen, steps)
			}
			err = send(t.Context(), c, &mcp.CallOptions{Timeout: 10 * time.Millisecond, Meta: mcp.Meta{"example.com/hang": true}})
			if !errors.Is(err, mcp.ErrTimeout) {
				t.Errorf("%s with a timeout = %v, want ErrTimeout", method, err)
			}
		}
	})
}
