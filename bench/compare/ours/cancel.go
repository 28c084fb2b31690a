package ours

import (
	"context"

	"github.com/bossman-dev/bossman/mcp"
)

func addWait(s *mcp.Server, cancelled chan<- struct{}) {
	mcp.AddTool(s, mcp.Tool{Name: "wait", Description: "Wait to be cancelled."},
		func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
			<-ctx.Done()
			cancelled <- struct{}{}
			return "", ctx.Err()
		})
}
