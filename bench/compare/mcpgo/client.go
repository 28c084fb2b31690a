package mcpgo

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type model struct{}

func (model) CreateMessage(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "m", SamplingMessage: mcp.SamplingMessage{
		Role: mcp.RoleAssistant, Content: mcp.NewTextContent("short: " + mcp.GetTextFromContent(req.Messages[0].Content)),
	}}, nil
}

// Summarize calls a tool of a server that uses the client's model.
func Summarize(ctx context.Context, r io.ReadCloser, w io.WriteCloser) (string, error) {
	c := client.NewClient(transport.NewIO(r, w, io.NopCloser(strings.NewReader(""))), client.WithSamplingHandler(model{}))
	if err := c.Start(ctx); err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		return "", err
	}
	var req mcp.CallToolRequest
	req.Params.Name = "summarize"
	req.Params.Arguments = map[string]any{"text": "long"}
	res, err := c.CallTool(ctx, req)
	if err != nil {
		return "", err
	}
	if res.IsError {
		return "", errors.New("the call failed")
	}
	return mcp.GetTextFromContent(res.Content[0]), nil
}
