// Package bossman is our own server with one typed tool, echo.
package bossman

import (
	"context"

	"github.com/bossman-dev/bossman/mcp"
)

type echoArgs struct {
	Text string `json:"text" jsonschema:"what to say back"`
}

// NewServer makes the server with its one tool.
func NewServer() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "perf", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "echo", Description: "echo"}, echo)
	return s
}

func echo(_ context.Context, _ *mcp.Call, in echoArgs) (*mcp.ToolResult, error) {
	return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(in.Text)}}, nil
}
