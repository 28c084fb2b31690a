package gosdk

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addOrder(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "order", Description: "Order a coat."},
		func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			answer, ok := req.Params.InputResponses["size"].(*mcp.ElicitResult)
			if !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"size": question("size", "Which size?")}}, nil, nil
			}
			size, _ := answer.Content["size"].(string)
			if answer.Action != "accept" {
				return text("nothing was ordered"), nil, nil
			}
			return text("ordered size " + size), nil, nil
		})
}

func question(name, message string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: &jsonschema.Schema{
		Type:       "object",
		Properties: map[string]*jsonschema.Schema{name: {Type: "string"}},
		Required:   []string{name},
	}}
}
