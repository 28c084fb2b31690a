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
// there. In a project that lands its work it always has to be. Where people or agents review, they are
// shown what it changed.
func (t *Tools) record(ctx context.Context, k *caller, h board.Handle, r *board.Report, seen inspection) (board.Outcome, error) {
	if t.o.Keep == nil && seen.land == "" && !seen.reviewed {
		return t.b.Done(ctx, k.Actor, h, *r)
	}
	t.recording.Lock()
	defer t.recording.Unlock()
	d, err := t.b.Get(ctx, h.Task, 100)
	if err != nil {
		return board.Outcome{}, err
	}
	if mayBeAccepted(d, h) { // else the board says why not, and what was stored for an earlier report stays
		if err := t.store(ctx, k, h, d, r, seen); err != nil {
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

// store stores the state that a report is about, where the lander finds it, and adds to the report where
// it is, what there is to be landed, and what it changed.
func (t *Tools) store(ctx context.Context, k *caller, h board.Handle, d board.Dossier, r *board.Report, seen inspection) (err error) {
	commit := ""
	w := board.WorkOf(d, k.Principal)
	w.Place = r.Where
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
	case r.Where.Dir == "" || r.NoChanges && !t.changed(ctx, w): // what is there is others'
	default:
		if commit, err = t.o.Inspector.Store(ctx, w, seen.tree, d.Task.Title, r.Summary); err != nil && seen.land != "" {
			return err
		}
	}
	if commit == "" {
		t.noDiff(d.Task.ID, err)
		return nil
	}
	tip, same, err := t.o.Inspector.Tip(ctx, w, commit, seen.land)
	none := r.NoChanges // says its worker
	if seen.land != "" {
		r.NoChanges = same
		if err != nil {
			return err
		}
	}
	if err == nil {
		r.Tip = tip
		r.Diff, err = t.o.Inspector.Diff(ctx, w, tip)
	}
	t.noDiff(d.Task.ID, err)
	if err := t.includes(ctx, h, d.Task, w, r, seen.land); err != nil {
		return err
	}
	switch before := d.Doc.Result; {
	case none && t.o.Keep == nil && !same && (seen.land != "" || len(r.Diff.Files) > 0):
		return hasChanges(h, r.Where)
	case same && !none && hadChanges(d):
		return nothingLeft(h, seen.land, before.Tip)
	case seen.land != "" && !same && before != nil && before.Tip.Tree == tip.Tree && returnedByPeople(d):
		return asReturned(h)
	}
	if seen.land == "" || same {
		return nil
	}
	return t.o.Inspector.Share(ctx, h, commit, seen.land)
}

// changed reports whether something has changed at the place of some work since the newest attempt began, or
// whether that is not known.
func (t *Tools) changed(ctx context.Context, w board.Work) bool {
	_, idle, err := t.o.Inspector.Elsewhere(ctx, w, func(board.Where, board.Idle) bool { return true })
	return err != nil || idle == board.NotIdle
}

// returnedByPeople reports whether people took the last work of a task out of the landing queue, and have answered no
// question about it since.
func returnedByPeople(d board.Dossier) bool {
	for _, e := range slices.Backward(d.Events) {
		r := e.Detail.Returned
		if e.Kind == board.EventReturned && r != nil {
			return (r.Kind == board.ReturnClosed || r.Kind == board.ReturnAsked && e.Detail.By == board.ByPerson) &&
				!slices.ContainsFunc(d.Questions, func(q board.Question) bool { return q.AnsweredAs == board.ByPerson && q.AnsweredAt.After(e.At) })
		}
	}
	return false
}

// hadChanges reports whether the last report of a task was about changes of files.
func hadChanges(d board.Dossier) bool {
	r := d.Doc.Result
	return r != nil && !r.Tip.IsZero() && !r.NoChanges
}

// hasChanges refuses a report that denies what is to be seen.
func hasChanges(h board.Handle, at board.Where) error {
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "has_changes", err: board.ErrConflict,
		why:  fmt.Sprintf("Something has changed where your work is since you got the task: %s.", location(at)),
		next: fmt.Sprintf("Next: if that is your work, %s without %s; if it is not, leave it as it is and ask a person.", repeat(), argument("no_changes", true)),
	}
}

// nothingLeft refuses a report of work of which nothing is left: there was some at an earlier attempt.
func nothingLeft(h board.Handle, land string, before board.Tip) error {
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "nothing_left", err: board.ErrConflict,
		why: fmt.Sprintf("An earlier attempt reported changes, commit %s, and what you report has none that %s lacks: they may have been lost, as by a rebase that skipped them.",
			shortCommit(before.Commit), inline(land, 80)),
		next: fmt.Sprintf("Next: bring these changes back and %s; if the task needs none any more, %s with %s.", repeat(), repeat(), argument("no_changes", true)),
	}
}

// asReturned refuses a report of just the files that people took out of the landing queue.
func asReturned(h board.Handle) error {
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "as_returned", err: board.ErrConflict,
		why:  "The files are the same as those that people took out of the landing queue.",
		next: fmt.Sprintf("Next: do what they said, see %s, and %s; if nothing is to be changed, ask them.", call("get_task", "task", h.Task.String(), "detail", "full"), repeat()),
	}
}

// noDiff logs why reviewers are not shown what a task's work changed. It is recorded all the same.
func (t *Tools) noDiff(id board.ID, err error) {
	if err != nil {
		t.o.Logger.Warn("what the work of a task changed could not be found out", "task", id, "err", err)
	}
}

// notStored refuses a report whose state could not be stored.
func notStored(h board.Handle, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
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
