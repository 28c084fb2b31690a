package main

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/mcp"
)

func addResources(s *mcp.Server) {
	resource(s, "static-text", "A text that stays the same.", mcp.ResourceContents{
		MIMEType: "text/plain", Text: "This is the content of the static text resource.",
	})
	resource(s, "static-binary", "A picture that stays the same.", mcp.ResourceContents{MIMEType: "image/png", Blob: png})
	resource(s, "watched-resource", "A text to subscribe to.", mcp.ResourceContents{
		MIMEType: "text/plain", Text: "This is the content of the watched resource.",
	})
	s.AddResourceTemplate(mcp.ResourceTemplate{
		URITemplate: "test://template/{id}/data",
		Name:        "template",
		Description: "Data for any id.",
		MIMEType:    "application/json",
	}, readTemplate)
}

// resource adds a resource with constant contents.
func resource(s *mcp.Server, name, description string, holds mcp.ResourceContents) {
	s.AddResource(mcp.Resource{URI: "test://" + name, Name: name, Description: description, MIMEType: holds.MIMEType},
		func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) {
			return &mcp.ResourceResult{Contents: []mcp.ResourceContents{holds}}, nil
		})
}

func readTemplate(_ context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
	id := c.Argument("id")
	b, err := json.Marshal(struct {
		ID           string `json:"id"`
		TemplateTest bool   `json:"templateTest"`
		Data         string `json:"data"`
	}{id, true, "Data for ID: " + id})
	if err != nil {
		return nil, err
	}
	return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: string(b)}}}, nil
}
