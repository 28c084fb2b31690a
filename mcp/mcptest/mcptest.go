// Package mcptest connects a client to a server in memory, for tests.
package mcptest

import (
	"context"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Connect serves s to a new client that speaks the given revision. Both are
// closed at the end of the test, which fails if either returns an error.
func Connect(t testing.TB, s *mcp.Server, r mcp.Revision, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	near, far := jsonrpc.Pipe(jsonrpc.Limits{})
	served := make(chan error, 1)
	ctx := context.WithoutCancel(t.Context()) // t.Context ends before Cleanup
	go func() { served <- s.Serve(ctx, far) }()
	var options mcp.ClientOptions
	if o != nil {
		options = *o
	}
	options.Revision = r
	c, err := mcp.Connect(t.Context(), near, &options)
	if err != nil {
		t.Fatalf("Connect in %s: %v", r, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve in %s: %v", r, err)
		}
	})
	return c
}

// EachRevision runs a test once per revision, each time with a new client.
func EachRevision(t *testing.T, s *mcp.Server, o *mcp.ClientOptions, test func(t *testing.T, c *mcp.Client)) {
	for _, r := range mcp.Revisions() {
		t.Run(r.String(), func(t *testing.T) { test(t, Connect(t, s, r, o)) })
	}
}
