package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// chatty is a server whose tool "work" reports progress and logs before it is done.
func chatty() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "chatty", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "who", Description: "Say who."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "me", nil })
	mcp.AddTool(s, mcp.Tool{Name: "work", Description: "Work."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		c.Progress(1, 2, "")
		c.Logger().Info("half done")
		c.Logger().Warn("late", "by", 3)
		return "done", nil
	})
	return s
}

// A callback may call the client, with any context and from any goroutine, and the call that it
// belongs to returns after it.
func TestCallbacks_callTheClient(t *testing.T) {
	for _, how := range []string{"its context", "another context", "another goroutine"} {
		for _, which := range []string{"log", "progress"} {
			t.Run(how+" "+which, func(t *testing.T) {
				var c *mcp.Client
				var inner error
				finished := 0
				call := func(ctx context.Context) {
					if how != "its context" {
						ctx = context.Background()
					}
					ask := func() error {
						_, err := c.Call(ctx, "who", nil, &mcp.CallOptions{Timeout: 5 * time.Second})
						return err
					}
					if how == "another goroutine" {
						done := make(chan error)
						go func() { done <- ask() }()
						inner = errors.Join(inner, <-done)
					} else {
						inner = errors.Join(inner, ask())
					}
					time.Sleep(5 * time.Millisecond)
					finished++
				}
				o, one := &mcp.ClientOptions{LogLevel: slog.LevelDebug}, &mcp.CallOptions{Timeout: 10 * time.Second}
				want := 2
				if which == "log" {
					o.OnLog = func(ctx context.Context, _ mcp.LogMessage) { call(ctx) }
				} else {
					one.Progress, want = func(ctx context.Context, _ mcp.Progress) { call(ctx) }, 1
				}
				for _, r := range mcp.Revisions() {
					finished = 0
					c = mcptest.Connect(t, chatty(), &mcptest.Options{Revision: r, Client: *o})
					if _, err := c.Call(t.Context(), "work", nil, one); err != nil || inner != nil || finished != want {
						t.Fatalf("%s: Call = %v, from its callback %v; %d callbacks had returned, want %d", r, err, inner, finished, want)
					}
				}
			})
		}
	}
}

// Log messages have a type of their own, with a level of slog.
func TestOnLog(t *testing.T) {
	for _, r := range mcp.Revisions() {
		var got []mcp.LogMessage
		others := 0
		c := mcptest.Connect(t, chatty(), &mcptest.Options{Revision: r, Client: mcp.ClientOptions{
			LogLevel: slog.LevelWarn,
			OnLog:    func(_ context.Context, m mcp.LogMessage) { got = append(got, m) },
			OnNotify: func(context.Context, mcp.Notification) { others++ },
		}})
		if _, err := c.Call(t.Context(), "work", nil, nil); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Level != slog.LevelWarn || got[0].Logger != "chatty" || string(got[0].Data) != `{"by":3,"message":"late"}` || others != 0 {
			t.Errorf("%s: got %+v and %d other notifications, want one warning", r, got, others)
		}
	}
}
