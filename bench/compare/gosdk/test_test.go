package gosdk

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestDrawAndOrder(t *testing.T) {
	clientSide, serverSide := mcp.NewInMemoryTransports()
	if _, err := New(nil, new(Counts)).Connect(t.Context(), serverSide, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if req.Params.Message != "Which size?" {
				t.Errorf("asked %q", req.Params.Message)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"size": "M"}}, nil
		},
	})
	session, err := client.Connect(t.Context(), clientSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "draw", Arguments: map[string]any{"topic": "a cat"}})
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
	res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "order"})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := res.Content[0].(*mcp.TextContent); !ok || got.Text != "ordered size M" {
		t.Errorf("order = %v", res.Content)
	}
}
