package tools

import (
	"context"
	"errors"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	// lookEvery is how often the feed is read if nothing wakes the board.
	lookEvery = 10 * time.Second
	// feedPage is how many events are read in one call, and feedPages how many calls
	// follow each other without a pause.
	feedPage  = 500
	feedPages = 200
)

// A position is how far clients were notified of the changes of a board.
type position struct {
	known bool
	at    board.Cursor
	open  map[string]string // the open questions, from openQuestions
}

// currentPosition is the position at the end of the feed: earlier events are not changes.
func (t *Tools) currentPosition(ctx context.Context) (p position) {
	end, err := t.b.FeedEnd(ctx)
	p.at, p.known = end, err == nil
	p.open, _ = t.openQuestions(ctx)
	return p
}

// startOnSubscribe is middleware that makes sure, just before a subscription, that every later
// change is published. On a pipe publishChanges starts at the first one: most clients never
// subscribe, and each of their processes would read the server's feed whenever something
// happens.
func (t *Tools) startOnSubscribe(next mcp.Handler) mcp.Handler {
	return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
		if (r.Method == "resources/subscribe" || r.Method == "subscriptions/listen") && t.isOpen() {
			t.start(ctx)
			t.watching.Do(func() { close(t.watched) })
		}
		return next(ctx, r)
	}
}

// start returns the position from which changes are published: the end of the feed when it was
// first called and the board could be read.
func (t *Tools) start(ctx context.Context) position {
	t.starting.Lock()
	defer t.starting.Unlock()
	if !t.from.known {
		t.from = t.currentPosition(ctx)
	}
	return t.from
}

// publishChanges reads the feed and notifies clients of changed resources until ctx ends.
func (t *Tools) publishChanges(ctx context.Context) {
	if t.piped() {
		select {
		case <-ctx.Done():
			return
		case <-t.watched:
		}
	}
	var p position
	for ctx.Err() == nil {
		changes := t.b.Changes()
		if !p.known {
			p = t.start(ctx)
		}
		if p.known {
			p.at = t.publishEvents(ctx, p.at)
			if now, err := t.openQuestions(ctx); err == nil {
				t.publishQuestions(p.open, now)
				p.open = now
			}
		}
		board.WaitFor(ctx, changes, lookEvery)
	}
}

// publishEvents notifies clients of the events after a cursor and returns the new cursor. It
// reads a bounded number of pages: the next look continues, and a faulty server whose feed
// has no end is not asked without pause.
func (t *Tools) publishEvents(ctx context.Context, at board.Cursor) board.Cursor {
	for range feedPages {
		events, err := t.b.Feed(ctx, t.projects(), at, feedPage)
		if errors.Is(err, board.ErrCursorTooOld) { // this process slept for as long as tasks are kept
			if at, err = t.b.FeedEnd(ctx); err == nil {
				t.server.ResourceUpdated(boardURI)
				continue
			}
		}
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
		notified, changed := map[string]bool{}, map[string]bool{}
		for _, e := range events {
			changed[e.Task.Project] = true
			uri := taskURI + e.Task.String()
			if !notified[uri] {
				notified[uri] = true
				t.server.ResourceUpdated(uri)
			}
		}
		for slug := range changed {
			t.server.ResourceUpdated(boardURI, slug)
		}
	}
	return at
}

// publishQuestions notifies clients of the projects whose open questions have changed.
func (t *Tools) publishQuestions(before, now map[string]string) {
	for slug := range before {
		if _, ok := now[slug]; !ok {
			t.server.ResourceUpdated(questionsURI, slug)
		}
	}
	for slug := range now {
		if now[slug] != before[slug] {
			t.server.ResourceUpdated(questionsURI, slug)
		}
	}
}

// openQuestions returns a string for each project with open questions, which changes when
// the set of these does.
func (t *Tools) openQuestions(ctx context.Context) (map[string]string, error) {
	qs, err := t.b.Questions(ctx, board.QuestionFilter{Projects: t.projects(), State: board.QuestionOpen, Limit: 100})
	open := map[string]string{}
	for _, q := range qs {
		open[q.Project] += q.ID.String() + " "
	}
	return open, err
}

// projects are those whose changes concern this server's clients; nil means all.
func (t *Tools) projects() []string {
	if !t.piped() {
		return nil
	}
	return t.o.Pipe.Projects(access.Feed)
}
