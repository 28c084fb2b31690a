package mcpgo

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type user struct{ t *testing.T }

func (u user) Elicit(_ context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	if req.Params.Message != "Which size?" {
		u.t.Errorf("asked %q", req.Params.Message)
	}
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"size": "M"},
	}}, nil
}

func TestDrawAndOrder(t *testing.T) {
	c := client.NewClient(transport.NewInProcessTransport(New(nil, new(Counts))), client.WithElicitationHandler(user{t}))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	var req mcp.CallToolRequest
	req.Params.Name = "draw"
	req.Params.Arguments = map[string]any{"topic": "a cat"}
	res, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var got drawn
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &got); err != nil || got.Summary != "a cat in ink, 4 steps" {
		t.Errorf("draw = %q, %v", got.Summary, err)
	}
	req = mcp.CallToolRequest{}
	req.Params.Name = "order"
	if res, err = c.CallTool(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if got := mcp.GetTextFromContent(res.Content[0]); got != "ordered size M" {
		t.Errorf("order = %q", got)
	}
}
