// Package ours does the tasks of the comparison with our packages.
package ours

import (
	"context"
	"io"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// New returns the server with everything.
func New(cancelled chan<- struct{}, counts *Counts) *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "compare", Version: "1.0.0"}, &mcp.ServerOptions{Complete: complete})
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
func Serve(ctx context.Context, s *mcp.Server, r io.Reader, w io.Writer) error {
	return s.Serve(ctx, jsonrpc.Lines(r, w, jsonrpc.Limits{}))
}
