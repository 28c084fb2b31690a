package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// TestElicit_untilIdle: a person who does not answer holds nobody up for longer
// than the answer is needed, in a session and in a task.
func TestElicit_untilIdle(t *testing.T) {
	for name, c := range map[string]struct {
		revision mcp.Revision
		tasks    bool
	}{"session": {mcp.R20251125, false}, "task": {mcp.LatestRevision, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
				defer s.Close()
				s.AddRawTool(mcp.Tool{Name: "ask", Description: "Ask.", Tasks: mcp.TaskOptional}, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
					return mcp.AsTask(c, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
						form := &mcp.ElicitParams{Message: "?", RequestedSchema: []byte(`{"type":"object","properties":{}}`)}
						_, err := c.Elicit("k", form, &mcp.AskOptions{Until: func(ctx context.Context) {
							select {
							case <-ctx.Done():
							case <-time.After(45 * time.Second):
							}
						}})
						if errors.Is(err, mcp.ErrWithdrawn) {
							return &mcp.ToolResult{Content: []mcp.Content{mcp.Text("nobody there")}}, nil
						}
						return nil, err
					})
				})
				silent := func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					select {
					case <-ctx.Done():
					case <-time.After(10 * time.Minute):
					}
					return &mcp.ElicitResult{Action: "cancel"}, nil
				}
				client := mcptest.Connect(t, s, &mcptest.Options{Revision: c.revision, Client: mcp.ClientOptions{Elicit: silent, Tasks: c.tasks}})
				begun := time.Now()
				res, err := client.Call(t.Context(), "ask", nil, nil)
				if err != nil || len(res.Content) != 1 || res.Content[0].Text != "nobody there" {
					t.Fatalf("Call = %+v, %v", res, err)
				}
				if d := time.Since(begun); !c.tasks && d != 45*time.Second {
					t.Errorf("it took %v, want 45s", d)
				}
			})
		})
	}
}

// TestRepair_toolError: what Repair has to say is a result for the model, or before
// 2025-11-25 an error with the same text.
func TestRepair_toolError(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	s.AddRawTool(mcp.Tool{
		Name: "strict", Description: "Refuse.",
		Repair: func(context.Context, json.RawMessage) (json.RawMessage, []string, error) {
			return nil, nil, &mcp.ToolError{Text: "not so"}
		},
	}, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) { return nil, nil })
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		res, err := c.Call(t.Context(), "strict", nil, nil)
		if c.Revision() < mcp.R20251125 {
			if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeInvalidParams || e.Message != "not so" {
				t.Errorf("Call = %+v, %v", res, err)
			}
			return
		}
		if err != nil || !res.IsError || res.Content[0].Text != "not so" {
			t.Errorf("Call = %+v, %v", res, err)
		}
	})
}
