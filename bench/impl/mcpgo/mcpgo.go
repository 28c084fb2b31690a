// Package mcpgo is mark3labs/mcp-go with one tool, echo.
package mcpgo

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// NewServer makes the server with its one tool. The variant "validate" checks
// arguments against the tool's schema, which the library leaves out by default.
func NewServer(variant string) *server.MCPServer {
	var opts []server.ServerOption
	if variant == "validate" {
		opts = append(opts, server.WithInputSchemaValidation())
	}
	s := server.NewMCPServer("perf", "1", opts...)
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("echo"), mcp.WithString("text", mcp.Required())), echo)
	return s
}

// NewHTTP returns the Streamable HTTP handler. It answers in JSON unless a tool
// sends a notification: there is no way to ask for an event stream.
func NewHTTP(s *server.MCPServer, stateless bool) http.Handler {
	o := server.WithStateful(true)
	if stateless {
		o = server.WithStateLess(true)
	}
	return server.NewStreamableHTTPServer(s, o)
}

func echo(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text, err := r.RequireString("text")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(text), nil
}
