package gosdk

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var notes = []string{"apples", "apricots", "beans"}

func addNote(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://{name}", Name: "note"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			name := strings.TrimPrefix(req.Params.URI, "note://")
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "about " + name}}}, nil
		})
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, n := range notes {
		if req.Params.Ref.URI == "note://{name}" && strings.HasPrefix(n, req.Params.Argument.Value) {
			values = append(values, n)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
}
