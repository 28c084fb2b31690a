package telemetry_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
	"github.com/bossman-dev/bossman/telemetry"
)

// measured gives a function that runs the middleware around a call that does nothing.
func measured(t testing.TB, o telemetry.Options) func() {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	tel, err := telemetry.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "write", Description: "A tool."}, func(context.Context, *mcp.Call, nothing) (string, error) { return "", nil })
	// The request is taken from the server, so that all of it is settled, and the
	// middleware is then run around nothing.
	var request *mcp.Request
	s.Use(func(mcp.Handler) mcp.Handler {
		return func(_ context.Context, r *mcp.Request) (mcp.Result, error) {
			request = r
			return nil, nil
		}
	})
	m := &jsonrpc.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"write","arguments":{"task":"web-1"}}`)}
	ts := transport.NewServer(s)
	r := ts.NewRequest(m, mcp.Principal{ID: "ada"}, nil)
	if _, err := ts.Handle(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	var result mcp.Result = &mcp.ToolResult{}
	h := tel.Middleware()(func(context.Context, *mcp.Request) (mcp.Result, error) { return result, nil })
	ctx := t.Context()
	return func() { _, _ = h(ctx, request) }
}

func TestMiddleware_allocations(t *testing.T) {
	if got := testing.AllocsPerRun(1000, measured(t, telemetry.Options{})); got > 0 {
		t.Errorf("a call that is measured costs %v allocations, want none", got)
	}
}

func BenchmarkMiddleware(b *testing.B) {
	for _, c := range []struct {
		name string
		o    telemetry.Options
	}{{"metrics", telemetry.Options{}}, {"audit", telemetry.Options{Audit: io.Discard}}} {
		b.Run(c.name, func(b *testing.B) {
			f := measured(b, c.o)
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
