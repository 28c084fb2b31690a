package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// includes adds to a report which work of other tasks is in it and has not landed. Where work lands, the report is
// refused if nobody is to land that: it would get there under another name.
func (t *Tools) includes(ctx context.Context, h board.Handle, task board.Task, w board.Work, r *board.Report, land string) error {
	if r.Tip.IsZero() || r.NoChanges {
		return nil
	}
	w.Land = land
	found, err := t.o.Inspector.Includes(ctx, w, r.Tip)
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
		case board.Done: // the lander knows whether it was undone
			continue
		case board.InReview, board.Landing: // it may land first
		default:
			if land != "" {
				return includesOther(h, found[n], &d.Task, land)
			}
		}
		r.Includes = append(r.Includes, found[n])
	}
	return nil
}

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
