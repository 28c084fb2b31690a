package tools

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// leftover is what an attempt at another task left uncommitted in the directory of a hand-out.
type leftover struct {
	task  board.ID
	files int
}

// maxLeftover is how many tasks are looked at for a leftover.
const maxLeftover = 20

// leftoverHere finds what an ended attempt at another open task of the project left in the
// directory of a hand-out. Of several it is the newest: what it found there, it was told of. It
// finds nothing if the task's own attempts left files there.
func (t *Tools) leftoverHere(ctx context.Context, h *board.Handout) (l leftover) {
	w := where(h)
	if t.o.Inspector == nil || w.Uncommitted == 0 || w.Named || h.Claim.IsReview() || len(sharing(h)) > 0 {
		return l
	}
	var own []board.Work
	for n := range min(len(h.Attempts), maxLeftover) {
		d := h.Dossier
		d.Attempts = h.Attempts[:len(h.Attempts)-n]
		if last := d.Attempts[len(d.Attempts)-1]; last.Attempt < h.Claim.Attempt && last.Own(h.Claim.Worker.Principal) {
			own = append(own, board.WorkOf(d, h.Claim.Worker.Principal))
		}
	}
	if first, _ := t.o.Inspector.Leftover(ctx, own); first >= 0 {
		return l // the files are of the task itself
	}
	others, err := t.leavers(ctx, h.Task.ID, h.Claim.Worker.Principal)
	if err != nil {
		t.o.Logger.Warn("what others left is not known", "task", h.Task.ID, "err", err)
	}
	if first, files := t.o.Inspector.Leftover(ctx, others); first >= 0 {
		l = leftover{others[first].Task, files}
	}
	return l
}

// notLanded are the statuses of tasks whose work may lie about because it is nowhere else yet.
var notLanded = []board.Status{board.Pending, board.Waiting, board.InReview, board.Landing}

// leavers returns the works of other open tasks of a project whose last attempt was a principal's own,
// the newest attempt first.
func (t *Tools) leavers(ctx context.Context, than board.ID, principal string) (works []board.Work, err error) {
	open, err := t.b.List(ctx, board.TaskFilter{Projects: []string{than.Project}, Statuses: notLanded})
	granted := map[board.ID]time.Time{}
	for _, o := range open {
		if o.Attempt == 0 || o.ID == than || len(works) == maxLeftover {
			continue
		}
		var d board.Dossier
		if d, err = t.b.Get(ctx, o.ID, 1); err != nil || len(d.Attempts) == 0 {
			break
		}
		if !d.Attempts[len(d.Attempts)-1].Own(principal) {
			continue // it cannot say what is on this machine
		}
		granted[o.ID] = d.Attempts[len(d.Attempts)-1].GrantedAt
		works = append(works, board.WorkOf(d, principal))
	}
	slices.SortStableFunc(works, func(a, b board.Work) int { return granted[b.Task].Compare(granted[a.Task]) })
	return works, err
}

// text says what was left; empty if nothing was.
func (l leftover) text(w board.Where) string {
	if l.files == 0 {
		return ""
	}
	return fmt.Sprintf("%s in this directory, %s, perhaps from the last attempt at %v. Leave what is not yours as it is.",
		thereAre(l.files, "uncommitted file", "uncommitted files"), inline(w.Dir, 200), l.task)
}

// thereAre says how many there are.
func thereAre(n int, one, many string) string {
	if n == 1 {
		return "There is 1 " + one
	}
	return fmt.Sprintf("There are %d %s", n, many)
}
