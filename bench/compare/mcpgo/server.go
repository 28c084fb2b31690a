// Package mcpgo does the tasks of the comparison with mcp-go.
package mcpgo

import (
	"context"
	"io"

	"github.com/mark3labs/mcp-go/server"
)

// New returns the server with everything.
func New(cancelled chan<- struct{}, counts *Counts) *server.MCPServer {
	s := server.NewMCPServer("compare", "1.0.0",
		server.WithInputSchemaValidation(),
		server.WithElicitation(),
		server.WithCompletions(),
		server.WithResourceCompletionProvider(completer{}),
		server.WithHooks(counting(counts)),
		server.WithToolHandlerMiddleware(hide),
	)
	addDraw(s)
	addChart(s)
	addCopy(s)
	addOrder(s)
	addGift(s)
	addWait(s, cancelled)
	addNote(s)
	addReview(s)
	addWhoami(s)
	return s
}

// Serve serves one client.
func Serve(ctx context.Context, s *server.MCPServer, r io.Reader, w io.Writer) error {
	return server.NewStdioServer(s).Listen(ctx, r, w)
}
