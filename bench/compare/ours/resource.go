package ours

import (
	"context"
	"strings"

	"github.com/bossman-dev/bossman/mcp"
)

var notes = []string{"apples", "apricots", "beans"}

func addNote(s *mcp.Server) {
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://{name}", Name: "note"},
		func(_ context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
			return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{URI: c.URI(), Text: "about " + c.Argument("name")}}}, nil
		})
}

func complete(_ context.Context, _ *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
	c := &mcp.Completion{Values: []string{}}
	for _, n := range notes {
		if p.Ref.URI == "note://{name}" && strings.HasPrefix(n, p.Argument.Value) {
			c.Values = append(c.Values, n)
		}
	}
	return c, nil
}
