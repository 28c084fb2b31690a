//lint:file-ignore SA1019 what is deprecated must work, too

package streamable_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// Over HTTP too callbacks may call the client, run one at a time whatever streams they belong to,
// and have returned when their call does.
func TestClient_callbacks(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "chatty", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "work", Description: "Work."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		c.Logger().Info("half done")
		c.Progress(1, 2, "")
		return "done", nil
	})
	h := streamable.NewHandler(s, nil)
	web := httptest.NewServer(h)
	defer web.Close()
	defer h.Close()
	for _, r := range mcp.Revisions()[1:] {
		var c *mcp.Client
		var running, most, depth atomic.Int32
		var inner atomic.Pointer[error]
		callback := func() {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			if depth.Add(1) <= 3 { // its notifications come while this callback runs
				_, err := c.Call(context.Background(), "work", nil, &mcp.CallOptions{Timeout: 5 * time.Second})
				if err != nil {
					inner.Store(&err)
				}
			}
			time.Sleep(2 * time.Millisecond)
			running.Add(-1)
		}
		c, err := streamable.Connect(t.Context(), web.URL+"/mcp", nil, &mcp.ClientOptions{
			Revision: r, LogLevel: slog.LevelDebug,
			OnLog: func(context.Context, mcp.LogMessage) { callback() },
		})
		if err != nil {
			t.Fatal(err)
		}
		one := &mcp.CallOptions{Timeout: 10 * time.Second, Progress: func(context.Context, mcp.Progress) { callback() }}
		var wg sync.WaitGroup
		var failed error
		var mu sync.Mutex
		for range 4 {
			wg.Go(func() {
				_, err := c.Call(t.Context(), "work", nil, one)
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			})
		}
		wg.Wait()
		if failed != nil || inner.Load() != nil || most.Load() != 1 {
			t.Errorf("%s: Call = %v, from a callback %v; %d callbacks ran at once, want 1", r, failed, inner.Load(), most.Load())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
