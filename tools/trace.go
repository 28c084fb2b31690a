package tools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A pending report waits for its check, which takes longer than the call.
type pending struct {
	actor board.Actor
	claim board.Handle
	work  board.Work
}

// traceAfter is how long a report waits for its check before it is kept as a note.
const traceAfter = 10 * time.Second

const underWay = "the check was under way"

// maxVerdictWait is how long a process waits for the check of a report that nobody repeats.
const maxVerdictWait = 24 * time.Hour

// trace keeps a report that was not recorded as a note of its attempt: if the worker says nothing
// more, the next one reads that it had reported, what, and why that did not count.
func (t *Tools) trace(ctx context.Context, a board.Actor, h board.Handle, summary, why string) {
	if why == "" {
		return
	}
	t.note(ctx, a, h, fmt.Sprintf("%s%s: %s", reportedBut, why, visible.Cut(summary, 300)))
}

// note keeps a text as a note of an attempt, unless it is the last one that was kept of it.
func (t *Tools) note(ctx context.Context, a board.Actor, h board.Handle, text string) {
	t.mu.Lock()
	if len(t.traces) > 10_000 {
		clear(t.traces)
	}
	again := t.traces[h] == text
	t.traces[h] = text
	t.mu.Unlock()
	if again {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // the client may have given up
	defer cancel()
	d, err := t.b.Get(ctx, h.Task, 1)
	if err == nil {
		for _, at := range d.Attempts {
			// A note would tell the board that the worker has read the task as it is now, or
			// that it goes on with a claim that has expired.
			ended := at.Cause == board.CauseExpired || at.Cause == board.CauseLeft || at.Cause == board.CauseDone
			if at.Handle == h && (at.SpecVersion != d.Task.SpecVersion || ended) {
				return
			}
		}
		_, err = t.b.Progress(ctx, a, h, board.Note{Text: text})
	}
	if err != nil && !errors.Is(err, board.ErrLeaseLost) {
		t.o.Logger.Warn("a report that was not recorded could not be noted", "task", h.Task, "err", err)
	}
}

// notRecorded says why a report was not recorded; empty if the board has kept what it says.
func notRecorded(err error) string {
	if errors.Is(err, board.ErrLeaseLost) || errors.Is(err, board.ErrNotFound) || errors.Is(err, board.ErrInvalid) {
		return ""
	}
	if r, ok := asRefusal(err); ok {
		switch r.code {
		case "elsewhere":
			return "its work could not be judged where it was"
		case "evidence_false":
			return "its evidence was not there"
		case "uncommitted":
			return "files were not committed"
		case "moved":
			return "another commit was checked out while the check ran"
		case "check_changed":
			return "files changed while the check ran"
		case "check_stopped":
			return "the check did not run to its end"
		case "not_stored":
			return "its work could not be stored"
		}
	}
	if _, ok := errors.AsType[*board.EvidenceError](err); ok {
		return "evidence was missing"
	}
	if _, ok := errors.AsType[*board.EditedError](err); ok {
		return "the task had been edited"
	}
	if _, ok := errors.AsType[*board.UnansweredError](err); ok {
		return "a question to people was open"
	}
	if _, ok := errors.AsType[*board.UnfinishedError](err); ok {
		return "tasks that come first were not done"
	}
	return "it was refused"
}

// unfinished says why a report was not recorded, from the answer that says so.
func unfinished(not *answer) string {
	w, _ := not.result.(wireCheck)
	switch CheckState(w.State) {
	case CheckRunning:
		return underWay
	case CheckRed:
		return "the check failed"
	}
	return "the check could not judge it"
}

// awaitVerdict hands a report whose check is under way to awaitVerdicts. Without a process that stays
// there is nobody who could wait.
func (t *Tools) awaitVerdict(p pending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.awaited[p.claim] || !t.piped() {
		return
	}
	select {
	case t.pendings <- p:
		t.awaited[p.claim] = true
	default: // nobody reads them, or too many wait
	}
}

// awaitVerdicts waits for the checks of reports that nobody may repeat, until ctx ends, and notes
// what they came to.
func (t *Tools) awaitVerdicts(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-t.pendings:
			wg.Go(func() {
				res, err := t.o.Inspector.Check(ctx, p.work, maxVerdictWait, func(time.Duration, string) bool { return !t.ended(ctx, p.claim) })
				t.mu.Lock()
				delete(t.awaited, p.claim)
				told := t.reporting[p.claim] > 0 || res.Run != "" && t.heard[p.claim] == res.Run
				t.mu.Unlock()
				if text := checkText(res, err); text != "" && !told && ctx.Err() == nil {
					t.note(ctx, p.actor, p.claim, text)
				}
			})
		}
	}
}

// checkText says what the check of a report came to, empty if that says nothing.
func checkText(res CheckResult, err error) string {
	const of = "the check of the report that was not recorded "
	if e, ok := errors.AsType[*board.PlaceError](err); ok {
		return of + "passed, but: " + visible.Cut(visible.Line(e.Why), 300)
	}
	switch {
	case err != nil:
		return ""
	case res.State == CheckGreen:
		return of + "passed: " + visible.Cut(visible.Line(res.Evidence.Detail), 300)
	case res.State == CheckRed:
		return of + "failed: " + visible.Cut(visible.Line(res.Reason), 300)
	}
	return ""
}
