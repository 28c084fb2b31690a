// Add is an MCP server with one tool, add. It communicates with its client over
// standard input and output:
//
//	go run ./examples/add
package main

import (
	"context"
	"log"

	"github.com/bossman-dev/bossman/mcp"
)

type numbers struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type sum struct {
	Sum float64 `json:"sum" jsonschema:"a plus b"`
}

func main() {
	s := mcp.NewServer(mcp.Implementation{Name: "add", Version: "1.0.0"}, nil)
	tool := mcp.Tool{Name: "add", Description: "Add two numbers."}
	mcp.AddTool(s, tool, func(_ context.Context, _ *mcp.Call, n numbers) (sum, error) {
		return sum{n.A + n.B}, nil
	})
	if err := s.Serve(context.Background(), mcp.Stdio()); err != nil {
		log.Fatal(err)
	}
}
