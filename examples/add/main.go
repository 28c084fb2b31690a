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
	A float64 `json:"a" jsonschema:"First number"`
	B float64 `json:"b" jsonschema:"Second number"`
}

type sum struct {
	Result float64 `json:"result" jsonschema:"a + b"`
}

func add(_ context.Context, _ *mcp.Call, n numbers) (sum, error) {
	return sum{n.A + n.B}, nil
}

func newServer() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "add", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "add", Description: "Add two numbers together"}, add)
	return s
}

func main() {
	if err := newServer().Serve(context.Background(), mcp.Stdio(nil)); err != nil {
		log.Fatal(err)
	}
}
