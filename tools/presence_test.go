package tools_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/tools"
)

// countingBoard counts the calls that a process makes on its own, without the model.
type countingBoard struct {
	*board.Board
	feeds, renewals atomic.Int64
}

func (b *countingBoard) Feed(ctx context.Context, projects []string, after board.Cursor, limit int) ([]board.Event, error) {
	b.feeds.Add(1)
	return b.Board.Feed(ctx, projects, after, limit)
}

func (b *countingBoard) Renew(ctx context.Context, owner string, called bool) ([]board.Claim, error) {
	b.renewals.Add(1)
	return b.Board.Renew(ctx, owner, called)
}

// TestRun_quiet: a process on a pipe makes no calls while it holds nothing and its client
// watches nothing, because a server has many such processes.
func TestRun_quiet(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.R20251125, mcp.LatestRevision} {
		synctest.Test(t, func(t *testing.T) {
			s := newFixtureEvery(t, web, setup{Piped: true}, revision, time.Minute)
			b := &countingBoard{Board: s.b}
			server := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
			run := register(server, b, setup{Piped: true, Project: "web"})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- run.Run(ctx) }()
			defer func() {
				cancel()
				<-ended
			}()
			c := mcptest.Connect(t, server, &mcptest.Options{Revision: revision})
			create := func() {
				t.Helper()
				if _, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
					t.Fatal(err)
				}
			}
			create()
			time.Sleep(10 * time.Minute)
			if f, r := b.feeds.Load(), b.renewals.Load(); f+r > 0 {
				t.Errorf("an idle process has read the feed %d times and renewed %d times", f, r)
			}

			if _, err := c.Call(t.Context(), "get_next_task", nil, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if b.renewals.Load() == 0 {
				t.Error("nothing was renewed")
			}
			claims, err := b.Claims(t.Context(), board.ClaimFilter{})
			if err != nil || len(claims) != 1 {
				t.Fatalf("after an hour the process holds %v, %v, want its claim", claims, err)
			}
			if _, err := b.Release(t.Context(), ada, claims[0].Task, "r"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // to notice
			before := b.renewals.Load()
			time.Sleep(10 * time.Minute)
			if now := b.renewals.Load(); now != before {
				t.Errorf("a process without a claim renewed %d times", now-before)
			}

			heard := make(chan mcp.Event, 10)
			listening, stop := context.WithCancel(t.Context())
			defer stop()
			go func() {
				for e, err := range c.Listen(listening, mcp.EventFilter{ResourceURIs: tools.Watched()}) {
					if err != nil {
						return
					}
					heard <- e
				}
			}()
			synctest.Wait()
			create()
			<-heard
			stop()
			synctest.Wait()
		})
	}
}
