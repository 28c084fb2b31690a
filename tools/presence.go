package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
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
	if t.piped() {
		wg.Go(func() { t.stay(ctx) })
	}
	t.follow(ctx)
	wg.Wait()
	if t.piped() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := t.b.Leave(ctx, t.o.Pipe.Owner); err != nil {
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
	grants, known := t.grants()
	if grants == known {
		return renewEvery // it holds nothing: a server has others to listen to
	}
	held, err := t.b.Renew(ctx, t.o.Pipe.Owner)
	if err != nil && ctx.Err() == nil {
		t.o.Logger.Warn("claims could not be renewed", "err", err)
	}
	if err == nil && len(held) == 0 {
		t.ended(grants)
	}
	next := renewEvery
	for _, c := range held {
		next = min(next, renewPause(c.Lease))
	}
	return next
}

// grants is how many claims the process was given, and how many of the first ones are
// known to have ended.
func (t *Tools) grants() (given, ended int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.given, t.over
}

func (t *Tools) ended(given int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = given
}

// renewPause is how often a lease has to be looked at: a claim is renewed when less
// than half is left, and then a quarter still is.
func renewPause(lease time.Duration) time.Duration { return max(lease/4, 100*time.Millisecond) }

// A position is how far the changes of a board have been told.
type position struct {
	known bool
	at    board.Cursor
	open  string // the open questions
}

// here is the position without what has been: that is no change.
func (t *Tools) here(ctx context.Context) (p position) {
	end, err := t.b.FeedEnd(ctx)
	p.at, p.known = end, err == nil
	p.open, _ = t.openQuestions(ctx)
	return p
}

// watch begins to look for changes before the first client of a pipe begins to hear of
// them. Most never do, and a server would have each of their processes ask for news
// whenever something happens.
func (t *Tools) watch(next mcp.Handler) mcp.Handler {
	return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
		if (r.Method == "resources/subscribe" || r.Method == "subscriptions/listen") && t.o.Missing == nil {
			t.watching.Do(func() {
				t.from = t.here(ctx)
				close(t.watched)
			})
		}
		return next(ctx, r)
	}
}

// follow reads the feed and tells clients which resources have changed.
func (t *Tools) follow(ctx context.Context) {
	var p position
	if t.piped() {
		select {
		case <-ctx.Done():
			return
		case <-t.watched:
			p = t.from
		}
	}
	for ctx.Err() == nil {
		if !p.known {
			p = t.here(ctx)
		} else {
			p.at = t.changes(ctx, p.at)
			if now, err := t.openQuestions(ctx); err == nil && now != p.open {
				p.open = now
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
		events, err := t.b.Feed(ctx, t.projects(), at, feedPage)
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
	qs, err := t.b.Questions(ctx, board.QuestionFilter{Projects: t.projects(), State: board.QuestionOpen, Limit: 100})
	var b strings.Builder
	for _, q := range qs {
		b.WriteString(q.ID.String() + " ")
	}
	return b.String(), err
}

// projects are those whose changes concern this server's clients; nil means all.
func (t *Tools) projects() []string {
	if !t.piped() {
		return nil
	}
	return t.o.Pipe.Projects(access.Feed)
}
