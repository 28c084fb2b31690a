package ours

import (
	"context"

	"github.com/bossman-dev/bossman/mcp"
)

func addChart(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "chart", Description: "Draw a chart."},
		func(context.Context, *mcp.Call, struct{}) (mcp.Output[drawn], error) {
			return mcp.Output[drawn]{
				Value:   drawn{"rising"},
				Content: []mcp.Content{mcp.Text("rising"), mcp.Image([]byte("png"), "image/png")},
			}, nil
		})
}
