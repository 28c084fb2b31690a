// Package gosdk does the tasks of the comparison with go-sdk.
package gosdk

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// New returns the server with everything.
func New(cancelled chan<- struct{}, counts *Counts) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "compare", Version: "1.0.0"}, &mcp.ServerOptions{CompletionHandler: complete})
	addDraw(s)
	addChart(s)
	addCopy(s)
	addOrder(s)
	addGift(s)
	addWait(s, cancelled)
	addNote(s)
	addReview(s)
	addWhoami(s)
	count(s, counts)
	return s
}

// Serve serves one client.
func Serve(ctx context.Context, s *mcp.Server, r io.ReadCloser, w io.WriteCloser) error {
	return s.Run(ctx, &mcp.IOTransport{Reader: r, Writer: w})
}
