package land

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// includes says why work does not land that includes work of another task: nobody has accepted that, or it lands by
// itself, or it was undone. behind is the other task. What has landed in any form is no hindrance; files that another task
// had left where the work was done have landed if the target has them as they are. Of tasks that include each other, the one
// that has all the queued work of the others lands first, with that.
func (l *Lander) includes(ctx context.Context, onto string, q board.Queued, queue []board.Queued, had past) (why string, behind board.ID, err error) {
	found, others, err := l.others(ctx, onto, q, had)
	if err != nil || len(others) == 0 {
		return "", behind, err
	}
	r, err := l.ring(ctx, onto, q, others, queue, had)
	if err != nil {
		return "", behind, err
	}
	if r.first.Task.ID == q.Task.ID {
		return "", behind, nil
	}
	rank := func(d board.Dossier) int { // what people have to see to is named first
		switch {
		case d.Task.Status != board.Landing && d.Task.Status != board.InReview:
			return 0
		case !r.in[d.Task.ID]:
			return 1
		case d.Task.ID == r.first.Task.ID:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(others, func(a, b board.Dossier) int { return cmp.Compare(rank(a), rank(b)) })
	other := &others[0].Task
	result := others[0].Doc.Result
	part := found[slices.IndexFunc(found, func(f board.Included) bool { return f.Task == other.ID })]
	what := "commit " + git.Short(part.Commit)
	if len(part.Files) > 0 {
		what = fmt.Sprintf("%.200q", visible.Line(part.Files[0]))
	}
	state := ""
	switch {
	case other.Status == board.InReview:
		state = "which is in review: it lands after that"
	case r.in[other.ID] && r.first.Task.ID.IsZero():
		state = "which waits to be landed and includes earlier work of this task: neither can land before the other"
	case other.Status == board.Landing:
		state = "which waits to be landed: it lands after that"
	case other.Status == board.Done && result != nil && result.Landed != "":
		state = "which was undone, or has landed without it"
	default:
		state = fmt.Sprintf("which is %v and has not landed", other.State())
	}
	return fmt.Sprintf("it includes %s of %v, %s; to send it back: bossman land return %v -m \"leave out the work of %v\"",
		what, other.ID, state, q.Task.ID, other.ID), other.ID, nil
}

// others returns what work includes of other tasks that has not landed, and those of them that are a hindrance.
func (l *Lander) others(ctx context.Context, onto string, q board.Queued, had past) (found []board.Included, others []board.Dossier, err error) {
	not := []string{onto}
	for _, land := range had.landed {
		not = append(not, land.Tip)
	}
	there, err := l.remoteStates(ctx)
	if err != nil {
		return nil, nil, err
	}
	found, err = check.Includes(ctx, l.o.Repo, there, l.o.Board.Get, q.Task.ID, q.Tip.Commit, not...)
	if err != nil {
		return nil, nil, err
	}
	if len(q.Includes) > 0 { // as the clone knows that has reported it
		in, err := l.o.Repo.Only(ctx, q.Tip.Commit, not...)
		if err != nil {
			return nil, nil, err
		}
		for _, i := range q.Includes {
			if len(i.Files) == 0 && in[i.Commit] && !slices.ContainsFunc(found, func(f board.Included) bool { return f.Task == i.Task }) {
				found = append(found, i)
			}
		}
	}
	for _, i := range q.Includes {
		if len(i.Files) == 0 || slices.ContainsFunc(found, func(f board.Included) bool { return f.Task == i.Task }) {
			continue
		}
		there, err := l.o.Repo.SameFiles(ctx, onto, q.Tip.Commit, i.Files)
		if err != nil {
			return nil, nil, err
		}
		if !there {
			found = append(found, i)
		}
	}
	others, err = board.Strange(ctx, q.Task, found, l.o.Board.Get)
	return found, others, err
}

// A ring is tasks of the queue that include each other, in one attempt or another.
type ring struct {
	in map[board.ID]bool
	// first is the one that can land before the others, because it has all their queued work; zero if there is none.
	first board.Queued
}

// ring returns the ring that a task is in, empty if it is in none. others are the tasks that it includes.
func (l *Lander) ring(ctx context.Context, onto string, q board.Queued, others []board.Dossier, queue []board.Queued, had past) (ring, error) {
	queued := map[board.ID]board.Queued{}
	for _, o := range queue {
		queued[o.Task.ID] = o
	}
	includes := map[board.ID][]board.Dossier{q.Task.ID: others}
	for todo := slices.Clone(others); len(todo) > 0; todo = todo[1:] {
		id := todo[0].Task.ID
		o, waits := queued[id]
		if _, known := includes[id]; known || !waits {
			continue
		}
		if _, err := l.o.Repo.Commit(ctx, o.Tip.Commit); err != nil { // this clone does not have it yet
			continue
		}
		_, list, err := l.others(ctx, onto, o, had)
		if err != nil {
			return ring{}, err
		}
		includes[id] = list
		todo = append(todo, list...)
	}
	r := ring{in: map[board.ID]bool{}}
	for id := range includes {
		if id != q.Task.ID && leads(includes, id, q.Task.ID) && leads(includes, q.Task.ID, id) {
			r.in[id] = true
		}
	}
	if len(r.in) == 0 {
		return r, nil
	}
	r.in[q.Task.ID] = true
	for _, o := range queue { // in its order: two may have the same work
		id, all := o.Task.ID, true
		if !r.in[id] {
			continue
		}
		for other := range r.in {
			if other == id || !all {
				continue
			}
			has, err := l.o.Repo.Contains(ctx, queued[id].Tip.Commit, queued[other].Tip.Commit)
			if err != nil {
				return ring{}, err
			}
			all = has
		}
		if all && !slices.ContainsFunc(includes[id], func(d board.Dossier) bool { return !r.in[d.Task.ID] }) {
			r.first = o
			break
		}
	}
	return r, nil
}

// leads reports whether a task includes another one, itself or by way of others.
func leads(includes map[board.ID][]board.Dossier, from, to board.ID) bool {
	seen := map[board.ID]bool{}
	for todo := []board.ID{from}; len(todo) > 0; todo = todo[1:] {
		for _, d := range includes[todo[0]] {
			if d.Task.ID == to {
				return true
			}
			if !seen[d.Task.ID] {
				seen[d.Task.ID] = true
				todo = append(todo, d.Task.ID)
			}
		}
	}
	return false
}

// remoteStates returns what was reported from any clone, as the remote repository of the target has it. It is asked once
// in a round.
func (l *Lander) remoteStates(ctx context.Context) (map[string]string, error) {
	if l.o.Target.Kind == board.TargetLocal || l.there != nil {
		return l.there, nil
	}
	there, err := l.target.states(ctx)
	l.there = there
	return there, err
}
