package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// record records a report of done. If the state that it is about has to be stored, it does that
// first: whatever happens to the answer, or to this process, what the board says is done is
// there. tree is what the check has judged.
func (t *Tools) record(ctx context.Context, k *caller, h board.Handle, r *board.Report, tree string) (board.Outcome, error) {
	if t.o.Keep == nil {
		return t.b.Done(ctx, k.Actor, h, *r)
	}
	t.recording.Lock()
	defer t.recording.Unlock()
	d, err := t.b.Get(ctx, h.Task, 1)
	if err != nil {
		return board.Outcome{}, err
	}
	if mayBeAccepted(d, h) { // else the board says why not, and what was stored for an earlier report stays
		if err := t.store(ctx, d, r, tree); err != nil {
			return board.Outcome{}, notStored(h, err)
		}
	}
	return t.b.Done(ctx, k.Actor, h, *r)
}

// recordFailure records that a task could not be done, after its state is stored, so that the board
// knows where it is. If it cannot be stored, the board knows where it was seen last.
func (t *Tools) recordFailure(ctx context.Context, k *caller, h board.Handle, f board.Failure) (board.Outcome, error) {
	if t.o.Keep == nil {
		return t.b.Fail(ctx, k.Actor, h, f)
	}
	t.recording.Lock()
	defer t.recording.Unlock()
	d, err := t.b.Get(ctx, h.Task, 1)
	if err != nil {
		return board.Outcome{}, err
	}
	if mayBeAccepted(d, h) {
		at, _, err := t.o.Keep(ctx, f.Where, "", f.Reason)
		if err != nil {
			t.o.Logger.Warn("the state of a task that failed could not be stored", "task", h.Task, "err", err)
		} else {
			at.Client = f.Where.Client
			f.Where = at
		}
	}
	return t.b.Fail(ctx, k.Actor, h, f)
}

// store stores the state that a report is about, and adds to the report where it is.
func (t *Tools) store(ctx context.Context, d board.Dossier, r *board.Report, tree string) error {
	at, seen, err := t.o.Keep(ctx, r.Where, tree, r.Summary)
	if err != nil {
		return err
	}
	at.Client = r.Where.Client
	r.Where = at
	// It is no evidence of the worker's.
	if !slices.Contains(d.Task.Wants, seen.Kind) || slices.ContainsFunc(r.Evidence, func(e board.Evidence) bool { return e.Kind == seen.Kind }) {
		r.Observed = append(r.Observed, seen)
	}
	return nil
}

// notStored refuses a report whose state could not be stored.
func notStored(h board.Handle, err error) error {
	next := "repair that"
	if e, ok := errors.AsType[*board.PlaceError](err); ok {
		next, err = e.Next, errors.New(e.Why)
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "not_stored", err: board.ErrConflict,
		why: fmt.Sprintf("Your work could not be stored: %v.", err), next: fmt.Sprintf("Next: %s, and %s; if you cannot, ask a person.", next, repeat()),
	}
}
