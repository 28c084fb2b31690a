package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

const (
	// renewEvery is how often a pipe's process shows that it is there, or oftener
	// where leases are short; the board writes only where less than half of a lease
	// is left.
	renewEvery = 20 * time.Second
	// absentAfter is how long a process may be without a call before its presence
	// counts no longer: somebody has left it running.
	absentAfter = 2 * time.Hour
	// lookEvery is how often changes are looked for without a wake-up.
	lookEvery = 10 * time.Second
)

// Run shows the presence of a pipe's process, so that its workers keep what they
// hold, and tells clients of changes, until ctx ends. Then it says that the process
// has left. It needs the board's own Run beside it.
func (t *Tools) Run(ctx context.Context) error {
	if t.o.Missing != nil {
		<-ctx.Done()
		return ctx.Err()
	}
	var wg sync.WaitGroup
	if t.o.Piped {
		wg.Go(func() { t.stay(ctx) })
	}
	t.follow(ctx)
	wg.Wait()
	if t.o.Piped {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := t.b.Leave(ctx, t.owner); err != nil {
			return fmt.Errorf("leave the board: %w", err)
		}
	}
	return ctx.Err()
}

// stay renews what the process holds.
func (t *Tools) stay(ctx context.Context) {
	timer := time.NewTimer(renewEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.short:
		case <-timer.C:
		}
		timer.Reset(t.renew(ctx))
	}
}

// renew is a sign of life, and says when the next is due.
func (t *Tools) renew(ctx context.Context) time.Duration {
	t.mu.Lock()
	quiet := time.Since(t.lastCall)
	t.mu.Unlock()
	if quiet > absentAfter {
		return renewEvery
	}
	held, err := t.b.Renew(ctx, t.owner)
	if err != nil && ctx.Err() == nil {
		t.o.Logger.Warn("claims could not be renewed", "err", err)
	}
	next := renewEvery
	for _, c := range held {
		next = min(next, renewPause(c.Lease))
	}
	return next
}

// renewPause is how often a lease has to be looked at: a claim is renewed when less
// than half is left, and then a quarter still is.
func renewPause(lease time.Duration) time.Duration { return max(lease/4, 100*time.Millisecond) }

// follow reads the feed and tells clients which resources have changed.
func (t *Tools) follow(ctx context.Context) {
	at, open, ok := board.Cursor(""), "", false
	for ctx.Err() == nil {
		if !ok {
			// What has been before is no change.
			end, err := t.b.FeedEnd(ctx)
			at, ok = end, err == nil
			open, _ = t.openQuestions(ctx)
		} else {
			at = t.changes(ctx, at)
			if now, err := t.openQuestions(ctx); err == nil && now != open {
				open = now
				t.server.ResourceUpdated(questionsURI)
			}
		}
		t.b.Wait(ctx, lookEvery)
	}
}

const feedPage = 500

// changes tells of the events after a cursor, and gives the next.
func (t *Tools) changes(ctx context.Context, at board.Cursor) board.Cursor {
	for {
		events, err := t.b.Feed(ctx, t.o.Projects, at, feedPage)
		if err != nil {
			if ctx.Err() == nil {
				t.o.Logger.Debug("the feed could not be read", "err", err)
			}
			return at
		}
		if len(events) == 0 {
			return at
		}
		at = events[len(events)-1].Cursor
		told := map[string]bool{}
		for _, e := range events {
			uri := taskURI + e.Task.String()
			if !told[uri] {
				told[uri] = true
				t.server.ResourceUpdated(uri)
			}
		}
		t.server.ResourceUpdated(boardURI)
	}
}

// openQuestions is a text that differs when the open questions do.
func (t *Tools) openQuestions(ctx context.Context) (string, error) {
	qs, err := t.b.Questions(ctx, board.QuestionFilter{Projects: t.o.Projects, State: board.QuestionOpen, Limit: 100})
	var b strings.Builder
	for _, q := range qs {
		b.WriteString(q.ID.String() + " ")
	}
	return b.String(), err
}
