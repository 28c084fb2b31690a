package mcpgo

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const fileTime = 20 * time.Millisecond

func addCopy(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("copy", mcp.WithDescription("Copy files.")),
		func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range 3 {
				if meta := req.Params.Meta; meta != nil && meta.ProgressToken != nil {
					err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
						"progressToken": meta.ProgressToken, "progress": i + 1, "total": 3, "message": "copying",
					})
					if err != nil {
						return nil, err
					}
				}
				time.Sleep(fileTime)
			}
			return mcp.NewToolResultText("copied"), nil
		})
}
