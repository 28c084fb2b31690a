package mcpgo

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var notes = []string{"apples", "apricots", "beans"}

func addNote(s *server.MCPServer) {
	s.AddResourceTemplate(mcp.NewResourceTemplate("note://{name}", "note"),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			name := strings.TrimPrefix(req.Params.URI, "note://")
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "about " + name}}, nil
		})
}

type completer struct{}

func (completer) CompleteResourceArgument(_ context.Context, uri string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c := &mcp.Completion{Values: []string{}}
	for _, n := range notes {
		if uri == "note://{name}" && strings.HasPrefix(n, a.Value) {
			c.Values = append(c.Values, n)
		}
	}
	return c, nil
}
