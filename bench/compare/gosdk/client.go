//lint:file-ignore SA1019 sampling is one of the tasks

package gosdk

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Summarize calls a tool of a server that uses the client's model.
func Summarize(ctx context.Context, r io.ReadCloser, w io.WriteCloser) (string, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			asked, ok := req.Params.Messages[0].Content.(*mcp.TextContent)
			if !ok {
				return nil, errors.New("want a text")
			}
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "short: " + asked.Text}}, nil
		},
	})
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: r, Writer: w}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "summarize", Arguments: map[string]string{"text": "long"}})
	if err != nil {
		return "", err
	}
	answer, ok := res.Content[0].(*mcp.TextContent)
	if !ok || res.IsError {
		return "", errors.New("the call failed")
	}
	return answer.Text, nil
}
