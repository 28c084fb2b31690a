package gosdk

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addGift(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "gift", Description: "Send a gift."},
		func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			name := req.Params.RequestState
			if answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult); ok {
				name, _ = answer.Content["name"].(string)
			}
			if name == "" {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": question("name", "For whom?")}}, nil, nil
			}
			answer, ok := req.Params.InputResponses["note"].(*mcp.ElicitResult)
			if !ok {
				return &mcp.CallToolResult{
					InputRequests: mcp.InputRequestMap{"note": question("note", "What shall we write to "+name+"?")},
					RequestState:  name,
				}, nil, nil
			}
			note, _ := answer.Content["note"].(string)
			return text(name + ": " + note), nil, nil
		})
}
