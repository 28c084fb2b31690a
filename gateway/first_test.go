package gateway

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Of several processes that see an upstream for the first time, one starts it, also if that takes long; the others read what that has stored. If the first one
// cannot, another one tries.
func TestDiscover_once(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there, locks say nothing")
	}
	for _, fails := range []bool{false, true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			var starts atomic.Int32
			var gateways []*Gateway
			for range 8 {
				up := echo(t)
				g, err := New(t.Context(), []Upstream{{Name: "up", Command: []string{"up"}, Max: 1, Timeout: time.Minute, Idle: time.Hour}}, &Options{
					TrustFirst: true, Logger: slog.New(slog.DiscardHandler), Store: NewFileStore(dir), Scratch: func() (string, error) { return t.TempDir(), nil },
					Start: func(ctx context.Context, _ *mcp.Command, o *mcp.ClientOptions) (*mcp.Client, error) {
						time.Sleep(40 * time.Second) // it is downloaded first
						if n := starts.Add(1); fails && n == 1 {
							return nil, jsonrpc.ErrClosed
						}
						one, two := jsonrpc.Pipe(jsonrpc.Limits{})
						go func() { _ = up.Serve(context.Background(), two) }()
						return mcp.Connect(ctx, one, o)
					},
				})
				must(t, err)
				g.Attach(mcp.NewServer(mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ServerOptions{Visible: g.Visible, Logger: slog.New(slog.DiscardHandler)}))
				gateways = append(gateways, g)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, len(gateways))
			for _, g := range gateways {
				go func() { done <- g.Run(ctx) }()
			}
			time.Sleep(3 * time.Minute)
			want := int32(1)
			if fails {
				want = 2
			}
			if n := starts.Load(); n != want {
				t.Errorf("it was started %d times, want %d", n, want)
			}
			for _, g := range gateways {
				if len(g.Items()) != 1 || g.Items()[0].Withheld != "" {
					t.Errorf("a process has %+v", g.Items())
				}
			}
			cancel()
			for range gateways {
				<-done
			}
		})
	}
}
