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
	if t.o.Inspector == nil {
		if err := t.outOfSight(ctx, h, r); err != nil {
			return board.Outcome{}, err
		}
	}
	if t.o.Keep == nil && seen.rules.Land == "" && !seen.rules.Policy.Reviewed() {
		return t.recordHere(ctx, k, h, r)
	}
	t.recording.Lock()
	defer t.recording.Unlock()
	d, err := t.b.Get(ctx, h.Task, 100)
	if err != nil {
		return board.Outcome{}, err
	}
	if mayBeAccepted(d, h) { // else the board says why not, and what was stored for an earlier report stays
		says := r.NoChanges
		if err := t.store(ctx, k, h, d, r, seen); err != nil {
			return board.Outcome{}, notStored(h, err)
		}
		if seen.rules.Land != "" && r.Tip.IsZero() && !r.NoChanges {
			return board.Outcome{}, nothingStored(h, seen.rules.Land)
		}
		if err := t.forgone(ctx, k, h, d, r, seen, says); err != nil {
			return board.Outcome{}, err
		}
		if seen.rules.Land != "" && r.NoChanges && !says {
			return board.Outcome{}, nothingNew(h, seen.rules.Land)
		}
	}
	return t.done(ctx, k, h, r)
}

// outOfSight refuses a report of work that nobody here can look at, if the project lands its work: this would be done, and would never land.
func (t *Tools) outOfSight(ctx context.Context, h board.Handle, r *board.Report) error {
	p, err := t.b.Project(ctx, h.Task.Project)
	if err != nil {
		return err
	}
	r.Rules = new(p.Rules())
	if p.Land == "" {
		return nil
	}
	d, err := t.b.Get(ctx, h.Task, 1)
	if err != nil || !mayBeAccepted(d, h) {
		return err
	}
	if r.NoChanges {
		return t.forgoneUnseen(ctx, h, d, r, p.Land)
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "not_stored", err: board.ErrConflict,
		why: fmt.Sprintf("This project lands its work on %s, and Bossman cannot look at yours over HTTP.", inline(p.Land, 80)),
		next: fmt.Sprintf("Next: report in the clone that has your work, with bossman mcp or bossman done; if the task changed no file, %s with %s; if you can do neither, ask a person.",
			repeat(), argument("no_changes", true)),
	}
}

// nothingStored refuses a report without work that could be landed, in a project that lands it.
func nothingStored(h board.Handle, land string) error {
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "not_stored", err: board.ErrConflict,
		why: fmt.Sprintf("This project lands its work on %s, and nothing was found that could be landed.", inline(land, 80)),
		next: fmt.Sprintf("Next: commit your work on a branch of its own and %s with that branch; if the task changed no file, %s with %s.",
			repeat(), repeat(), argument("no_changes", true)),
	}
}

// nothingNew refuses a report of work that the target has already, such as a copy of what others have landed: nothing of it could land, and
// that the task needs no change is for its worker to say.
func nothingNew(h board.Handle, land string) error {
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "nothing_new", err: board.ErrConflict,
		why: fmt.Sprintf("%s already has everything of what you report, so nothing of it can land.", inline(land, 80)),
		next: fmt.Sprintf("Next: if something is still to be done, do it, commit it and %s; if the task needs no change, %s with %s.",
			repeat(), repeat(), argument("no_changes", true)),
	}
}

// recordHere records a report of done whose work stays where it is.
func (t *Tools) recordHere(ctx context.Context, k *caller, h board.Handle, r *board.Report) (board.Outcome, error) {
	if t.o.Inspector != nil && r.Where.Dir != "" {
		d, err := t.b.Get(ctx, h.Task, 1)
		if err == nil && mayBeAccepted(d, h) {
			w := board.WorkOf(d, k.Principal)
			w.Place = r.Where
			r.Loose, err = t.o.Inspector.Lying(ctx, w)
		}
		if err != nil { // it is only said how many files are not committed
			t.o.Logger.Warn("which files lay about before is not known", "task", h.Task, "err", err)
		}
	}
	return t.done(ctx, k, h, r)
}

// done records a report. It is refused if a person has changed the project's rules since the work was looked at.
func (t *Tools) done(ctx context.Context, k *caller, h board.Handle, r *board.Report) (board.Outcome, error) {
	out, err := t.b.Done(ctx, k.Actor, h, *r)
	if !errors.Is(err, board.ErrConflict) || r.Rules == nil {
		return out, err
	}
	p, perr := t.b.Project(ctx, h.Task.Project)
	if perr != nil || p.Rules() == *r.Rules {
		return out, err
	}
	return out, &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "rules_changed", err: board.ErrConflict,
		why: fmt.Sprintf("A person changed the rules of %s while your work was looked at.", h.Task.Project), next: "Next: " + repeat() + ".",
	}
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
	w.Place, w.Slot, w.Land = r.Where, t.o.Keep != nil, seen.rules.Land
	switch {
	case t.o.Keep != nil:
		at, kept, err := t.o.Keep(ctx, r.Where, seen.tree, r.Summary)
		if err != nil {
			return err
		}
		at.Client = r.Where.Client
		r.Where, commit = at, kept.Ref
		if r.Loose, err = t.o.Inspector.Lying(ctx, w); err != nil {
			t.o.Logger.Warn("which files are left out of the work is not known", "task", h.Task, "err", err)
		}
		// It is no evidence of the worker's.
		if !slices.Contains(d.Task.Wants, kept.Kind) || slices.ContainsFunc(r.Evidence, func(e board.Evidence) bool { return e.Kind == kept.Kind }) {
			r.Observed = append(r.Observed, kept)
		}
	case r.Where.Dir == "" || r.NoChanges && !t.changed(ctx, w): // what is there is others'
	case r.NoChanges && seen.rules.Land != "": // nothing of it lands
		r.Loose, err = t.o.Inspector.Lying(ctx, w)
	default:
		if commit, r.Loose, err = t.o.Inspector.Store(ctx, w, seen.tree, d.Task.Title, r.Summary); err != nil && seen.rules.Land != "" {
			return err
		}
	}
	if commit == "" {
		t.noDiff(d.Task.ID, err)
		return nil
	}
	tip, same, err := t.o.Inspector.Tip(ctx, w, commit, seen.rules.Land)
	none := r.NoChanges // says its worker
	if seen.rules.Land != "" {
		if err != nil || none && !same { // then nothing lands, and forgone names what there is
			return err
		}
		r.NoChanges = same
	}
	if err == nil {
		r.Tip = tip
		r.Diff, err = t.o.Inspector.Diff(ctx, w, tip)
	}
	t.noDiff(d.Task.ID, err)
	if err := t.includes(ctx, h, d.Task, w, r, seen.rules.Land); err != nil {
		return err
	}
	switch before := d.Doc.Result; {
	case r.Loose.Unknown && !none && (same || seen.rules.Land == "" && len(r.Diff.Files) == 0):
		return notKnown(h, r.Loose)
	case len(r.Loose.Inside) > 0 && !none && (same || seen.rules.Land == "" && err == nil && hasNone(r.Tip, r.Diff)):
		return onlyInside(h, r.Loose.Inside)
	case none && seen.rules.Land == "" && len(r.Diff.Files) > 0:
		return hasChanges(h, r.Where)
	case seen.rules.Land != "" && !same && before != nil && before.Tip.Tree == tip.Tree && returnedByPeople(d):
		return asReturned(h)
	}
	if err := t.dropped(ctx, h, d.Task, w, r, seen); err != nil {
		return err
	}
	if seen.rules.Land == "" || same {
		return nil
	}
	return t.o.Inspector.Share(ctx, h, commit, seen.rules.Land)
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

// hasNone reports whether work is known to have changed no file, as its diff says.
func hasNone(t board.Tip, d board.Diff) bool {
	return t.Commit == t.Base || d.Tip != "" && !d.Withheld && len(d.Files)+d.More == 0
}

// hasChanges refuses a report that denies what is to be seen.
func hasChanges(h board.Handle, at board.Where) error {
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "has_changes", err: board.ErrConflict,
		why:  fmt.Sprintf("Something has changed where your work is since you got the task: %s.", location(at)),
		next: fmt.Sprintf("Next: if that is your work, %s without %s; if it is not, leave it as it is and ask a person.", repeat(), argument("no_changes", true)),
	}
}

// hasCommits refuses a report once that denies commits which may be its worker's.
func hasCommits(h board.Handle, at board.Where) error {
	yours := "its branch"
	if at.Branch != "" {
		yours = argument("branch", at.Branch)
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "has_changes", err: board.ErrConflict,
		why: fmt.Sprintf("There are commits since you got the task: %s.", location(at)),
		next: fmt.Sprintf("Next: if they are your work, %s with %s and without %s; if they are not, repeat it as it is, and it is recorded.",
			repeat(), yours, argument("no_changes", true)),
	}
}

// notKnown refuses a report of nothing but files that may have been there before.
func notKnown(h board.Handle, l board.Loose) error {
	names := inlineSome(l.LeftOut, l.More, 600)
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "not_committed", err: board.ErrConflict,
		why:  fmt.Sprintf("It is not known what lay here when you got the task: that was not noted, or by an older Bossman, or in another state directory. So files that are not committed are left out, and there is nothing else: %s.", names),
		next: fmt.Sprintf("Next: commit what belongs to the task, and %s.", repeat()),
	}
}

// onlyInside refuses a report of nothing but changes in submodules and other repositories, which no commit here has.
func onlyInside(h board.Handle, paths []string) error {
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "not_committed", err: board.ErrConflict,
		why: fmt.Sprintf("There is no change but what is in %s. That is a repository inside this one: a commit here has only which commit of a submodule is checked out, and nothing of another repository.", inlineList(paths, 600)),
		next: fmt.Sprintf("Next: if it is a submodule, commit in it, push that where the submodule is shared, and commit its new commit here; if it is not, remove its .git, or add it as a submodule. Then %s; if the task needs no change here, %s with %s.",
			repeat(), repeat(), argument("no_changes", true)),
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
