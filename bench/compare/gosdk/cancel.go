package gosdk

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addWait(s *mcp.Server, cancelled chan<- struct{}) {
	mcp.AddTool(s, &mcp.Tool{Name: "wait", Description: "Wait to be cancelled."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			<-ctx.Done()
			cancelled <- struct{}{}
			return nil, nil, ctx.Err()
		})
}
