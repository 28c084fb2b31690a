package mcpgo

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func addGift(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("gift", mcp.WithDescription("Send a gift.")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			name := req.Params.RequestState
			if answer := server.ElicitationResponse(req.Params.InputResponses, "name"); answer != nil {
				name = content(answer, "name")
			}
			if name == "" {
				return server.NewInputRequestBuilder("").Elicit("name", question("name", "For whom?")).ToolResult(), nil
			}
			answer := server.ElicitationResponse(req.Params.InputResponses, "note")
			if answer == nil {
				ask := question("note", "What shall we write to "+name+"?")
				return server.NewInputRequestBuilder(name).Elicit("note", ask).ToolResult(), nil
			}
			return mcp.NewToolResultText(name + ": " + content(answer, "note")), nil
		})
}
