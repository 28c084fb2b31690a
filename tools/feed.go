package tools

import (
	"context"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	// lookEvery is how often changes are looked for without a wake-up.
	lookEvery = 10 * time.Second
	// feedPage is how many events are read at once.
	feedPage = 500
)

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
