package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// forgone looks after a report of no changes, where work lands: that is a word about the task, not about the attempt, so the target has
// to have all work of the task. If it lacks some, the worker is told so first, once for each claim; then the report names that work as
// dropped. says is set if the worker has said that there are no changes: else the work may have been lost, and it has to say so.
func (t *Tools) forgone(ctx context.Context, k *caller, h board.Handle, d board.Dossier, r *board.Report, seen inspection, says bool) error {
	if seen.rules.Land == "" || !r.NoChanges {
		return nil
	}
	w, err := t.work(ctx, k.Principal, d, board.Project{Land: seen.rules.Land})
	if err != nil {
		return err
	}
	if r.Where.Dir != "" {
		w.Place = r.Where
	}
	redone, err := board.Redone(ctx, d.Task, t.b.Get)
	if err != nil {
		return err
	}
	for _, was := range redone {
		if res := was.Doc.Result; res != nil && !res.Tip.IsZero() && len(was.Attempts) > 0 {
			w.Redone = append(w.Redone, board.Former{Attempt: was.Attempts[len(was.Attempts)-1], Tip: res.Tip})
		}
	}
	list, first, err := t.o.Inspector.Forgone(ctx, w, t.ofOthers(ctx, h.Task))
	switch {
	case err != nil:
		t.o.Logger.Warn("what the target lacks of a task's work could not be found out", "task", h.Task, "err", err)
		return t.forgoneUnseen(ctx, h, d, r, seen.rules.Land)
	case len(list) == 0:
		return nil
	case !says:
		return nothingLeft(h, seen.rules.Land, w.Place.Branch, list)
	case first:
		return leavesOut(h, seen.rules.Land, list)
	}
	r.Observed = append(r.Observed, leftOut(seen.rules.Land, list))
	return nil
}

// forgoneUnseen is forgone for a worker whose work cannot be looked at: the board knows what was reported before.
func (t *Tools) forgoneUnseen(ctx context.Context, h board.Handle, d board.Dossier, r *board.Report, land string) error {
	a, ok := d.Reported()
	if !ok {
		return nil
	}
	f := board.Forgone{Commit: d.Doc.Result.Tip.Commit, Branch: a.Where.Branch, Absent: true}
	diff, err := t.b.Diff(ctx, h.Task, a.Attempt)
	if err != nil {
		return err
	}
	for _, file := range diff.Diff.Files {
		f.Files, f.Absent = append(f.Files, file.Path), false
	}
	list := []board.Forgone{f}
	t.mu.Lock()
	first := !t.forwent[h]
	if len(t.forwent) > 10_000 {
		clear(t.forwent)
	}
	t.forwent[h] = true
	t.mu.Unlock()
	if first {
		return leavesOut(h, land, list)
	}
	r.Observed = append(r.Observed, leftOut(land, list))
	return nil
}

// leavesOut refuses a report of no changes once that leaves out work of its task.
func leavesOut(h board.Handle, land string, list []board.Forgone) error {
	bring, taken := "", ", and the work that is there is taken"
	if slices.ContainsFunc(list, func(f board.Forgone) bool { return f.Redone }) {
		bring, taken = "do it anew, commit that, and ", ""
	} else if n := slices.IndexFunc(list, func(f board.Forgone) bool { return !f.Here }); n >= 0 {
		bring = "bring in what is not there, and "
		if c := list[n].Commit; c != "" && !list[n].Absent {
			with := "merge"
			if list[n].Stash {
				with = "stash apply"
			}
			bring = fmt.Sprintf("bring in what is not there, as with git %s %s, and ", with, shortCommit(c))
		}
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "leaves_out", err: board.ErrConflict,
		why: fmt.Sprintf("%s lacks work of this task: %s. A report of no changes would drop that, and the task would be done without it.", inline(land, 80), forgoneText(list, someFiles)),
		next: fmt.Sprintf("Next: if it is needed, %s%s without %s%s; if it is to be dropped, %s as it is, and the report says so.",
			bring, repeat(), argument("no_changes", true), taken, repeat()),
	}
}

// nothingLeft refuses a report of work on a branch of which nothing is left: the task had some before. It may be on another
// branch that the worker did not name.
func nothingLeft(h board.Handle, land, on string, list []board.Forgone) error {
	named := ""
	if n := slices.IndexFunc(list, func(f board.Forgone) bool {
		return f.Branch != "" && f.Branch != on && !f.Here && !f.Absent && !f.Redone && !f.Stash
	}); n >= 0 {
		named = fmt.Sprintf("if that is your work, %s with %s, checked out in a worktree; else ", repeat(), argument("branch", list[n].Branch))
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "nothing_left", err: board.ErrConflict,
		why: fmt.Sprintf("What you report has no change that %s lacks, and the task had some before: %s. They may have been lost, as by a rebase that skipped them.",
			inline(land, 80), forgoneText(list, someFiles)),
		next: fmt.Sprintf("Next: %sbring these changes back and %s; if they are to be dropped, %s with %s, and the report says so.", named, repeat(), repeat(), argument("no_changes", true)),
	}
}

// leftOut is what reviewers are told of the work of a task that a report drops.
func leftOut(land string, list []board.Forgone) board.Evidence {
	all := func(files []string) string { return inlineList(files, 3000) }
	return board.Evidence{
		Kind: board.EvidenceOther, Ref: board.DroppedRef,
		Detail: fmt.Sprintf("the report says that no change is needed, and leaves out what %s lacks: %s", inline(land, 80), forgoneText(list, all)),
	}
}

// forgoneText lists work that a target lacks.
func forgoneText(list []board.Forgone, files func([]string) string) string {
	var parts []string
	for _, f := range list {
		var s string
		switch place := forgonePlace(f); {
		case f.Commit == "" && f.Absent:
			s = "uncommitted files" + place + ", which cannot be looked at from here"
		case f.Commit == "":
			s = "uncommitted in " + inline(f.Dir, 200) + ": " + files(f.Files)
		case f.Absent:
			s = "commit " + shortCommit(f.Commit) + place + ", which is not in this clone"
		case f.Stash:
			s = "stash " + shortCommit(f.Commit) + " has " + files(f.Files)
		default:
			s = "commit " + shortCommit(f.Commit) + place + " changed " + files(f.Files)
		}
		parts = append(parts, s)
	}
	return cmp.Or(joinUpTo(parts, "; ", maxForgone), "nothing")
}

// maxForgone bounds how much is said of work that a target lacks, in bytes.
const maxForgone = 6000

// forgonePlace says where work was seen.
func forgonePlace(f board.Forgone) (s string) {
	if f.Branch != "" {
		s = " of branch " + inline(f.Branch, 80)
	}
	if f.Dir != "" {
		s += " in " + inline(f.Dir, 200)
	}
	if f.Host != "" {
		s += " on " + inline(f.Host, 80)
	}
	return s
}
