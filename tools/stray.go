package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/board"
)

// strays finds where the earlier attempts at a task may have left work without naming the place: a
// worker that makes a branch or a worktree of its own and dies has told nobody. What belongs to
// other tasks is left out, and so is what the hand-out names anyway.
func (t *Tools) strays(ctx context.Context, h *board.Handout, l left) []board.Where {
	if t.o.Inspector == nil || h.Claim.IsReview() {
		return nil
	}
	var known []board.Where
	here := where(h)
	before := slices.ContainsFunc(h.Attempts, func(a board.Attempt) bool { return a.Attempt < h.Claim.Attempt && a.Where.In(here) })
	if !before || t.isBound() || h.Again { // else an earlier attempt may have made the branch that is checked out here
		known = append(known, here)
	}
	for _, p := range l.places {
		known = append(known, p.Where)
	}
	strays := t.straysBefore(ctx, h.Dossier, h.Claim.Attempt, h.Claim.Worker.Principal, known)
	return slices.DeleteFunc(strays, func(at board.Where) bool {
		return at.Uncommitted == 0 && slices.ContainsFunc(l.places, func(p leftPlace) bool { return p.Where.Branch != "" && p.has(at.Head) }) // without a branch it is shown how to give it one
	})
}

// straysOf finds the strays of the attempts before one that reports.
func (t *Tools) straysOf(ctx context.Context, d board.Dossier, attempt int, principal string) []board.Where {
	var known []board.Where
	for _, a := range d.Attempts {
		known = append(known, a.Where)
	}
	return t.straysBefore(ctx, d, attempt, principal, known)
}

// straysBefore finds the strays of the attempts before one. known are places that are not.
func (t *Tools) straysBefore(ctx context.Context, d board.Dossier, attempt int, principal string, known []board.Where) []board.Where {
	d.Attempts = slices.DeleteFunc(slices.Clone(d.Attempts), func(a board.Attempt) bool { return a.Attempt >= attempt })
	if len(d.Attempts) == 0 {
		return nil
	}
	others := t.ofOthers(ctx, d.Task.ID)
	taken := func(at board.Where) bool { return isPlaceOf(known, at) || others(at) }
	w := board.WorkOf(d, principal)
	if p, err := t.b.Project(ctx, d.Task.ID.Project); err == nil { // else what has landed is among them
		w.Land = p.Land
	}
	return t.o.Inspector.Strays(ctx, w, d.Attempts[len(d.Attempts)-1].EndedAt, taken)
}

// elsewhere looks where the work of a report may be, if it is not at the place of w. The error is
// a *board.PlaceError if the report does not say that it is there, or that there is none. Otherwise
// the remark is for its evidence.
func (t *Tools) elsewhere(ctx context.Context, k *caller, d board.Dossier, w board.Work, r *board.Report, says stated) (remark string, err error) {
	if command, _ := t.o.Inspector.Command(); !w.Place.Named && (command == "" && w.Land == "" || t.isBound()) || w.Land == "" && t.nothingToSee(r) {
		return "", nil
	}
	committed := slices.ContainsFunc(r.Observed, func(e board.Evidence) bool { return e.Kind == board.EvidenceCommit })
	others := t.ofOthers(ctx, d.Task.ID)
	own := "" // the worker's directory, where no other was when it got the task
	if w.Ordered == "" {
		own = t.where(ctx, k).Dir
	}
	places, idle, err := t.o.Inspector.Elsewhere(ctx, w, func(at board.Where, idle board.Idle) bool {
		return idle == board.NotIdle && committed || (at.Dir == "" || at.Dir != own) && others(at)
	})
	// There is nothing where the work was said to be, or to be landed.
	nothing := (w.Place.Named || w.Land != "") && idle == board.IdleAlways
	if err != nil || w.Place.Named && idle == board.NotIdle || !nothing && len(places) == 0 {
		return "", err
	}
	there := make([]string, len(places))
	for n, at := range places {
		if there[n] = location(at); at.Dir == "" {
			there[n] += ", checked out nowhere"
		}
	}
	list := strings.Join(there, "; ")
	unnamed := slices.ContainsFunc(places, func(at board.Where) bool { return at.Branch == "" })
	if nothing {
		changed := own != "" && slices.ContainsFunc(places, func(at board.Where) bool { return at.Dir == own })
		if !says.noChanges && w.Land != "" {
			left, _, err := t.o.Inspector.Forgone(ctx, w, others)
			if err != nil {
				return "", err
			}
			left = slices.DeleteFunc(left, func(f board.Forgone) bool { // that is named below
				return slices.ContainsFunc(places, func(at board.Where) bool {
					return f.Branch != "" && at.Branch == f.Branch || f.Dir != "" && at.Dir == f.Dir ||
						at.Branch == "" && at.Head != "" && strings.HasPrefix(f.Commit, at.Head)
				})
			})
			if len(left) > 0 {
				return "", nothingLeft(w.Claim, w.Land, w.Place.Branch, left)
			}
		}
		switch {
		case !says.noChanges || changed:
			return "", unchanged(d.Task, w.Place, list, unnamed)
		case list != "":
			return "perhaps there is work elsewhere: " + list, nil
		}
		return "", nil
	}
	if says.branch != "" || says.noChanges || k.call == nil { // a direct method has no argument for a branch
		if idle == board.NotIdle {
			return "perhaps some of the work is elsewhere: " + list, nil
		}
		return "perhaps the work is elsewhere: " + list, nil
	}
	e := &board.PlaceError{Why: fmt.Sprintf("Since the task was first handed out, nothing has changed in %s, but elsewhere: %s.", inline(w.Place.Dir, 200), list)}
	switch idle {
	case board.IdleNow:
		e.Why = fmt.Sprintf("Since you got the task, nothing has changed in %s, but elsewhere: %s.", inline(w.Place.Dir, 200), list)
	case board.NotIdle:
		e.Why = fmt.Sprintf("Your work may be in %s, or on a branch or in a worktree that was made since the task was first handed out: %s.", inline(w.Place.Dir, 200), list)
	}
	yours := "with its branch"
	if at := places[0]; len(places) == 1 && at.Branch != "" {
		yours = "with " + argument("branch", at.Branch)
	}
	if slices.ContainsFunc(places, func(at board.Where) bool { return at.Branch == "" || at.Dir == "" }) {
		yours += ", checked out in a worktree"
	}
	here := "make a branch there and name that"
	if w.Place.Branch != "" {
		here = "do so with " + argument("branch", w.Place.Branch)
	}
	e.Next = fmt.Sprintf("if that is your work, %s %s; if your work is in %s, %s", repeat(), yours, inline(w.Place.Dir, 200), here)
	return "", e
}

// unchanged is the error for a report of work at a place that the worker was told or has named, or from which
// it is to be landed, at which nothing has changed. list are other places, at which something has; unnamed is set if
// one of these is on no branch.
func unchanged(task board.Task, at board.Where, list string, unnamed bool) error {
	on := "without a branch"
	if at.Branch != "" {
		on = "on branch " + inline(at.Branch, 80)
	}
	e := &board.PlaceError{
		Why:  fmt.Sprintf("Nothing has changed in %s, %s, since the task was first handed out.", inline(at.Dir, 200), on),
		Next: fmt.Sprintf("if your work is elsewhere, %s with the branch that it is on, checked out in a worktree", repeat()), Foreign: true,
	}
	if at.Uncommitted > 0 {
		e.Why += " Files that lay there uncommitted before count only if they are your work and you commit them."
	}
	if list != "" {
		e.Why += " Elsewhere something has: " + list + "."
	}
	if unnamed {
		e.Next += "; if it is on none, make one there: git switch -c NAME"
	}
	switch {
	case !task.Redoes.IsZero(): // what is there may be work that was undone, and the target lacks it
		e.Next += fmt.Sprintf("; if the work is there from before, it is not taken again: do it anew, commit that, and %s", repeat())
	case list == "":
		e.Next += fmt.Sprintf("; if the task needs no change of a file, %s with %s", repeat(), argument("no_changes", true))
	}
	return e
}

// ofOthers returns a function that reports whether a place belongs to another task.
func (t *Tools) ofOthers(ctx context.Context, than board.ID) func(board.Where) bool {
	others := sync.OnceValue(func() []board.Where { // there is a candidate, which is rare
		places, err := t.placesOfOthers(ctx, than)
		if err != nil {
			t.o.Logger.Warn("the places of other tasks are not known", "task", than, "err", err)
		}
		return places
	})
	return func(at board.Where) bool {
		return isPlaceOf(others(), at) || isTaskBranch(at.Branch, than) || at.Branch == "" && at.Dir == "" && isWorkOf(others(), at.Head)
	}
}

// maxOthers is how many other tasks are looked at for their places.
const maxOthers = 100

// placesOfOthers returns where the workers of other open tasks of a project work or have worked.
func (t *Tools) placesOfOthers(ctx context.Context, than board.ID) (places []board.Where, err error) {
	claims, err := t.b.Claims(ctx, board.ClaimFilter{Project: than.Project})
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		if c.Task != than {
			places = append(places, c.Where)
		}
	}
	open, err := t.b.List(ctx, board.TaskFilter{
		Projects: []string{than.Project}, Statuses: []board.Status{board.Pending, board.Waiting, board.InReview, board.Landing, board.Failed},
	})
	open = slices.DeleteFunc(open, func(o board.Task) bool { return o.Attempt == 0 || o.ID == than })
	for _, o := range open[max(0, len(open)-maxOthers):] {
		d, err := t.b.Get(ctx, o.ID, 1)
		if err != nil {
			return places, err
		}
		for _, a := range d.Attempts {
			places = append(places, a.Where)
		}
	}
	return places, err
}

// isPlaceOf reports whether a place is among those of others: by its branch, or, without one, by
// its directory.
func isPlaceOf(others []board.Where, at board.Where) bool {
	return slices.ContainsFunc(others, func(o board.Where) bool {
		if !o.SameClone(at) {
			return false
		}
		if at.Branch != "" {
			return o.Branch == at.Branch || o.Ordered == at.Branch
		}
		return o.Dir == at.Dir && at.Dir != ""
	})
}

// isWorkOf reports whether the work of others ends with a commit.
func isWorkOf(others []board.Where, commit string) bool {
	return slices.ContainsFunc(others, func(o board.Where) bool {
		return o.Worked && o.Head != "" && strings.HasPrefix(commit, o.Head)
	})
}

// isTaskBranch reports whether a branch has the name that workers of another task are told, or that
// it has under bossman work.
func isTaskBranch(branch string, than board.ID) bool {
	branch, made := strings.CutPrefix(branch, "bossman/")
	name, number, ok := strings.Cut(branch, "-")
	number, _, _ = strings.Cut(number, "-")
	id, err := board.ParseID(name + "-" + number)
	return ok && err == nil && (made || id.Project == than.Project) && id != than
}

// strayLines tells a worker where the last one may have worked without saying so.
func (l left) strayLines(task board.ID) (lines []string) {
	for _, at := range l.strays {
		text, more := location(at), ""
		switch {
		case at.Dir == "" && at.Branch == "":
			text = "commit " + at.Head + ", on no branch"
			more = fmt.Sprintf(". To give it one: git branch %v-%s %s", task, shortCommit(at.Head), at.Head)
		case at.Dir == "":
			text += ", checked out nowhere"
		}
		lines = append(lines, "Perhaps its work: "+text+" (new or changed since the task was first handed out)"+more)
	}
	if len(lines) > 0 {
		lines = append(lines, "Look there before you begin. If you go on with it, name its branch in every note and report.")
	}
	return lines
}
