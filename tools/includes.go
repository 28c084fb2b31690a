package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// includes adds to a report which work of other tasks is in it and has not landed. Where work lands, the report is
// refused if nobody is to land that: it would get there under another name.
func (t *Tools) includes(ctx context.Context, h board.Handle, task board.Task, w board.Work, r *board.Report, land string) error {
	if r.Tip.IsZero() || r.NoChanges {
		return nil
	}
	w.Land = land
	found, err := t.o.Inspector.Includes(ctx, w, r.Tip, t.b.Get)
	if err != nil {
		return err
	}
	others, err := board.Strange(ctx, task, found, t.b.Get)
	if err != nil {
		return err
	}
	for _, d := range others {
		n := slices.IndexFunc(found, func(i board.Included) bool { return i.Task == d.Task.ID })
		switch d.Task.Status {
		case board.Done:
			switch {
			case land == "":
				continue
			case len(found[n].Files) == 0 && !landed(d):
				return includesOther(h, found[n], &d.Task, land)
			case len(found[n].Files) == 0: // the lander knows whether it was undone
				continue
			}
			if at, err := board.ParseTarget(land); err == nil && at.Kind == board.TargetLocal || !landed(d) {
				return takesOther(h, found[n], d, r.Tip.Base)
			}
		case board.InReview, board.Landing: // it may land first
		default:
			switch {
			case land == "":
			case len(found[n].Files) > 0:
				return takesOther(h, found[n], d, r.Tip.Base)
			default:
				return includesOther(h, found[n], &d.Task, land)
			}
		}
		r.Includes = append(r.Includes, found[n])
	}
	return nil
}

// landed reports whether work of a task that is done has landed.
func landed(d board.Dossier) bool { return d.Doc.Result != nil && d.Doc.Result.Landed != "" }

// includesOther refuses a report of work that includes that of another task.
func includesOther(h board.Handle, i board.Included, other *board.Task, land string) error {
	onto := land
	if t, err := board.ParseTarget(land); err == nil {
		if onto = t.Branch; t.Remote != "" {
			onto = t.Remote + "/" + t.Branch
		}
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "includes_other", err: board.ErrConflict,
		why: fmt.Sprintf("Your work includes commit %s of %v, which is %v and has not landed.", shortCommit(i.Commit), i.Task, other.State()),
		next: fmt.Sprintf("Next: commit what is yours, take the other work out, as with git rebase --onto %s %s, and %s; if yours needs it, ask a person.",
			inline(onto, 80), shortCommit(i.Commit), repeat()),
	}
}

// takesOther refuses a report of work with files that another task had left uncommitted where the work was done.
func takesOther(h board.Handle, i board.Included, other board.Dossier, base string) error {
	state := fmt.Sprintf("which is %v and has not landed", other.Task.State())
	if other.Task.Status == board.Done && landed(other) {
		state = "which has landed, and was taken back or changed since"
	}
	words := []string{"git", "restore", "--source=" + shortCommit(base), "--staged", "--worktree", "--"}
	for _, file := range i.Files {
		words = append(words, visible.ShellWord(file))
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "includes_other", err: board.ErrConflict,
		why: fmt.Sprintf("Your commits have files that %v had left there, uncommitted, before you got the task: %s. They are the work of %v, %s.",
			i.Task, inlineList(i.Files, 600), i.Task, state),
		next: fmt.Sprintf("Next: take them out, as with %s, commit that, and %s; if yours needs them, ask a person.", inline(strings.Join(words, " "), 1000), repeat()),
	}
}
