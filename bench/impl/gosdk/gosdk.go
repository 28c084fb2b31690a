// Package gosdk is modelcontextprotocol/go-sdk with one tool, echo.
package gosdk

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoArgs struct {
	Text string `json:"text"`
}

// NewServer makes the server with its one tool. The variant "raw" registers it
// at the lower level, where the SDK neither validates nor decodes arguments.
func NewServer(variant string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "perf", Version: "1"}, nil)
	tool := &mcp.Tool{Name: "echo", Description: "echo"}
	if variant == "raw" {
		tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
		s.AddTool(tool, rawEcho)
		return s
	}
	mcp.AddTool(s, tool, echo)
	return s
}

// NewHTTP returns the Streamable HTTP handler.
func NewHTTP(s *mcp.Server, stateless, json bool) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: stateless, JSONResponse: json})
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
}

func rawEcho(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in echoArgs
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil
}
