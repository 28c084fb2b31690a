package gosdk

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addChart(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "chart", Description: "Draw a chart."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, drawn, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: "rising"}, &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"},
			}}, drawn{"rising"}, nil
		})
}
