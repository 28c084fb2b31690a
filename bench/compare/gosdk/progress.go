package gosdk

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const fileTime = 20 * time.Millisecond

func addCopy(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "copy", Description: "Copy files."},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for i := range 3 {
				if token := req.Params.GetProgressToken(); token != nil {
					err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
						ProgressToken: token, Progress: float64(i + 1), Total: 3, Message: "copying",
					})
					if err != nil {
						return nil, nil, err
					}
				}
				time.Sleep(fileTime)
			}
			return text("copied"), nil, nil
		})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
