package land

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// Issues are the issues of a tracker that tasks were made of. Errors are *PullError.
type Issues interface {
	// Has reports whether an issue is one of theirs.
	Has(url string) bool
	// Tell tells an issue that its task is done, unless it was told before.
	Tell(ctx context.Context, i board.Issue) error
}

const (
	// tellTime is how long issues are told before the queue is looked at again.
	tellTime = 20 * time.Second
	// retryTime is how long it takes at least until issues that could not be told are tried again.
	retryTime = 5 * time.Minute
)

// issues tells issues that their tasks are done. Nothing waits for that: what fails is noted, and tried again later.
func (l *Lander) issues(ctx context.Context) error {
	if l.o.Issues == nil || time.Now().Before(l.tellAt) {
		return nil
	}
	l.tellAt = time.Now().Add(pollTime)
	list, err := l.o.Board.Untold(ctx, l.o.Project)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(i board.Issue) bool { return !l.o.Issues.Has(i.URL) })
	var untold []board.LandWait
	for began := time.Now(); len(list) > 0; list = list[1:] {
		if time.Since(began) > tellTime && (l.o.Watch || len(untold) > 0) { // the others have time
			if len(untold) == 0 {
				l.tellAt = time.Time{}
			}
			break
		}
		i := list[0]
		url := visible.Line(i.URL)
		if l.o.Target.Kind != board.TargetPR { // where each lands alone
			if _, own, err := l.target.work(ctx, l.o.Board, nil, i.Task); err == nil {
				i.Commit = own // else it is the last one of those that landed together
			}
		}
		err := l.o.Issues.Tell(ctx, i)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, ok := errors.AsType[*PullError](err); ok {
			why := "its issue could not be told that it is done: " + url + ": " + err.Error()
			untold = append(untold, board.LandWait{Task: i.Task, Why: why, ForPeople: true})
			l.once(Event{Kind: Untold, Task: i.Task, Text: why})
			l.tellAt = time.Now().Add(retryTime)
			continue
		}
		if err == nil {
			err = l.o.Board.Told(ctx, l.o.Actor, i)
		}
		if err != nil {
			return err
		}
		l.o.Report(Event{Kind: Told, Task: i.Task, Commit: i.Commit, Text: url})
	}
	l.mu.Lock()
	l.note.Untold = untold[:min(len(untold), maxTold)]
	l.mu.Unlock()
	return nil
}
