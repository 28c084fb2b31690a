package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// record records a report of done. If the state that it is about has to be stored, it does that
// first: whatever happens to the answer, or to this process, what the board says is done is
// there. In a project that lands its work it always has to be.
func (t *Tools) record(ctx context.Context, k *caller, h board.Handle, r *board.Report, seen inspection) (board.Outcome, error) {
	if t.o.Keep == nil && seen.land == "" {
		return t.b.Done(ctx, k.Actor, h, *r)
	}
	t.recording.Lock()
	defer t.recording.Unlock()
	d, err := t.b.Get(ctx, h.Task, 1)
	if err != nil {
		return board.Outcome{}, err
	}
	if mayBeAccepted(d, h) { // else the board says why not, and what was stored for an earlier report stays
		if err := t.store(ctx, k, d, r, seen); err != nil {
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

// store stores the state that a report is about, and adds to the report where it is, and what there is
// to be landed.
func (t *Tools) store(ctx context.Context, k *caller, d board.Dossier, r *board.Report, seen inspection) (err error) {
	commit := ""
	switch {
	case t.o.Keep != nil:
		at, kept, err := t.o.Keep(ctx, r.Where, seen.tree, r.Summary)
		if err != nil {
			return err
		}
		at.Client = r.Where.Client
		r.Where, commit = at, kept.Ref
		// It is no evidence of the worker's.
		if !slices.Contains(d.Task.Wants, kept.Kind) || slices.ContainsFunc(r.Evidence, func(e board.Evidence) bool { return e.Kind == kept.Kind }) {
			r.Observed = append(r.Observed, kept)
		}
	case r.NoChanges || r.Where.Dir == "": // what is there is others'
	default:
		w := board.WorkOf(d, k.Principal)
		w.Place = r.Where
		if commit, err = t.o.Inspector.Store(ctx, w, seen.tree, d.Task.Title, r.Summary); err != nil {
			return err
		}
	}
	if seen.land == "" || commit == "" {
		return nil
	}
	r.Tip, r.NoChanges, err = t.o.Inspector.Tip(ctx, commit, seen.land)
	return err
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

// mayBeAccepted reports whether the board may accept a report under a claim: the claim is
// live, or has expired and nobody else was given the task.
func mayBeAccepted(d board.Dossier, h board.Handle) bool {
	t := d.Task
	if len(d.Attempts) == 0 || t.Attempt != h.Attempt || t.Nonce != h.Nonce || t.Status.Terminal() || t.Status == board.InReview || t.Status == board.Landing {
		return false
	}
	last := d.Attempts[len(d.Attempts)-1]
	return last.Cause == "" || last.Cause == board.CauseExpired || last.Cause == board.CauseLeft
}

// ended reports whether the board accepts no report under a claim any more. If the board cannot be
// asked, it does not.
func (t *Tools) ended(ctx context.Context, h board.Handle) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	d, err := t.b.Get(ctx, h.Task, 1)
	return err == nil && !mayBeAccepted(d, h)
}
