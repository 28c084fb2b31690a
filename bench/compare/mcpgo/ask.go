package mcpgo

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func addOrder(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("order", mcp.WithDescription("Order a coat.")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.ElicitationResponse(req.Params.InputResponses, "size")
			if answer == nil {
				return server.NewInputRequestBuilder("").Elicit("size", question("size", "Which size?")).ToolResult(), nil
			}
			if answer.Action != mcp.ElicitationResponseActionAccept {
				return mcp.NewToolResultText("nothing was ordered"), nil
			}
			return mcp.NewToolResultText("ordered size " + content(answer, "size")), nil
		})
}

func question(name, message string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: message, RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{name: map[string]any{"type": "string"}},
		"required":   []string{name},
	}}
}

func content(answer *mcp.ElicitationResult, name string) string {
	members, _ := answer.Content.(map[string]any)
	s, _ := members[name].(string)
	return s
}
