package mcpgo

import (
	"context"
	"encoding/base64"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func addChart(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("chart", mcp.WithDescription("Draw a chart."), mcp.WithOutputSchema[drawn]()),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				StructuredContent: drawn{"rising"},
				Content: []mcp.Content{
					mcp.NewTextContent("rising"), mcp.NewImageContent(base64.StdEncoding.EncodeToString([]byte("png")), "image/png"),
				},
			}, nil
		})
}
