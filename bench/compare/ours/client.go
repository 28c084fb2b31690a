package ours

import (
	"context"
	"io"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Summarize calls a tool of a server that uses the client's model.
func Summarize(ctx context.Context, r io.ReadCloser, w io.WriteCloser) (string, error) {
	c, err := mcp.Connect(ctx, jsonrpc.Lines(r, w, jsonrpc.Limits{}), &mcp.ClientOptions{
		Sample: func(_ context.Context, p *mcp.SampleParams) (*mcp.SampleResult, error) {
			return &mcp.SampleResult{Role: "assistant", Model: "m", Content: mcp.Blocks{mcp.Text("short: " + p.Messages[0].Content[0].Text)}}, nil
		},
	})
	if err != nil {
		return "", err
	}
	defer c.Close()
	return mcp.CallAs[string](ctx, c, "summarize", map[string]string{"text": "long"}, nil)
}
