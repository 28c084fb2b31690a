package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// shared returns the place of what an attempt with another key has reported, if it is the newest such work and is at the remote repository
// where the project lands its work: there it is more than the word of that key.
func (t *Tools) shared(ctx context.Context, h *board.Handout, a board.Attempt) (p leftPlace, ok bool) {
	if last, reported := h.Reported(); !reported || last.Attempt != a.Attempt {
		return p, false
	}
	s, ok := t.fetched(ctx, h, a, board.Sight{})
	return leftPlace{attempt: a.Attempt, Sight: s, head: a.Where.Head, looked: ok}, ok
}

// absent says how a worker gets the work of the last report if that is not in its clone; empty if it is.
func (t *Tools) absent(ctx context.Context, h *board.Handout, l left) string {
	a, ok := h.Reported()
	if !ok || t.isBound() || l.into != "" || h.Claim.IsReview() { // what is in the worktree that was made for it says the runner
		return ""
	}
	commit := h.Doc.Result.Tip.Commit
	if t.o.Inspector != nil && t.o.Inspector.Has(ctx, commit) {
		return ""
	}
	p, err := t.b.Project(ctx, h.Task.ID.Project)
	if err != nil {
		t.o.Logger.Warn("where the work of an attempt is could not be found out", "task", h.Task.ID, "err", err)
		return ""
	}
	what := fmt.Sprintf("What attempt %d reported, commit %s, is", a.Attempt, shortCommit(commit))
	switch remote := remoteOf(p.Land); {
	case remote != "" && t.o.Inspector == nil:
		return fmt.Sprintf("%s at %s. If it is not in your clone: %s. Go on from it: %s", what, inline(remote, 80), fetchCommand(remote, a.Handle, commit), goOnCommand(a.Handle))
	case remote != "":
		return fmt.Sprintf("%s at %s and not in this clone. Fetch it: %s. Go on from it: %s", what, inline(remote, 80), fetchCommand(remote, a.Handle, commit), goOnCommand(a.Handle))
	case t.o.Inspector != nil && a.Where.Host != "":
		return fmt.Sprintf("%s not in this clone: %s has it. Ask a person to bring it here if you need it; else do the work again.", what, inline(a.Where.Host, 40))
	}
	return ""
}

// remoteOf is the remote repository that has a target, empty if it is a branch of a clone.
func remoteOf(land string) string {
	t, err := board.ParseTarget(land)
	if err != nil {
		return ""
	}
	return t.Remote
}

// fetchCommand is the command that brings the commit that an attempt has reported from a remote repository.
func fetchCommand(remote string, h board.Handle, commit string) string {
	return fmt.Sprintf("git fetch %s %s:%s", visible.ShellWord(remote), h.SharedRef(commit), h.Ref())
}

// goOnCommand is the command that brings the state of an attempt into what is checked out.
func goOnCommand(h board.Handle) string { return "git merge " + h.Ref() }

// dropped adds to a report what it lacks of the former work of its task. Where work lands, a worker that went on without that work is
// told so first, once for each claim.
func (t *Tools) dropped(ctx context.Context, h board.Handle, task board.Task, w board.Work, r *board.Report, seen inspection) error {
	if r.Tip.IsZero() || r.NoChanges || w.Former.IsZero() {
		return nil
	}
	w.Land = seen.rules.Land
	d, err := t.o.Inspector.Dropped(ctx, w, r.Tip)
	if err != nil { // it is recorded all the same
		t.o.Logger.Warn("the work of a report could not be compared with what was reported before", "task", h.Task, "err", err)
		return nil
	}
	former, remote := w.Former, remoteOf(seen.rules.Land)
	commit := shortCommit(former.Tip.Commit)
	if ask := d.First && !d.Onward && seen.rules.Land != "" && seen.rules.Policy != board.PolicyTrust; ask && len(d.Files) > 0 {
		return &refusal{
			what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "dropped", err: board.ErrConflict,
			why: fmt.Sprintf("Attempt %d reported commit %s. Your work does not go on from it, and lacks what it changed in %s.", former.Attempt.Attempt, commit, someFiles(d.Files)),
			next: fmt.Sprintf("Next: bring that in, as with git merge %s, and %s; if it is to be left out, %s as it is, and the report says so.",
				commit, repeat(), repeat()),
		}
	} else if ask && d.Absent && remote != "" {
		return &refusal{
			what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "dropped", err: board.ErrConflict,
			why: fmt.Sprintf("Attempt %d reported commit %s, which is not in this clone, so your work could not be compared with it.", former.Attempt.Attempt, commit),
			next: fmt.Sprintf("Next: %s, bring in what your work lacks of it, as with %s, and %s; if you cannot, %s as it is, and the report says so.",
				fetchCommand(remote, former.Attempt.Handle, former.Tip.Commit), goOnCommand(former.Attempt.Handle), repeat(), repeat()),
		}
	}
	remark := ""
	switch {
	case len(d.Files) > 0:
		remark = fmt.Sprintf("commit %s, which attempt %d reported, changed files that are not changed in it: %s", commit, former.Attempt.Attempt, someFiles(d.Files))
	case d.Absent:
		remark = fmt.Sprintf("it could not be compared with commit %s, which attempt %d reported and which is not in this clone", commit, former.Attempt.Attempt)
	default:
		return nil
	}
	if n := slices.IndexFunc(r.Observed, func(e board.Evidence) bool { return e.Kind == board.EvidenceTests }); n >= 0 {
		r.Observed[n].Detail = remarked(r.Observed[n].Detail, remark)
	} else if !slices.Contains(task.Wants, board.EvidenceOther) { // else it could pass for the evidence that is wanted
		r.Observed = append(r.Observed, board.Evidence{Kind: board.EvidenceOther, Ref: "the work of attempt " + fmt.Sprint(former.Attempt.Attempt), Detail: remark})
	}
	return nil
}
