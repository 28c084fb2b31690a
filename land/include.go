package land

import (
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
)

// includes says why work does not land that includes work of another task: nobody has accepted that, or it lands by
// itself, or it was undone. behind is the other task. What has landed in any form is no hindrance.
func (l *Lander) includes(ctx context.Context, onto string, q board.Queued, had past) (why string, behind board.ID, err error) {
	not := []string{onto}
	for _, land := range had.landed {
		not = append(not, land.Tip)
	}
	there, err := l.remoteStates(ctx)
	if err != nil {
		return "", behind, err
	}
	found, err := check.Includes(ctx, l.o.Repo, there, q.Task.ID, q.Tip.Commit, not...)
	if err != nil {
		return "", behind, err
	}
	if len(q.Includes) > 0 { // as the clone knows that has reported it
		in, err := l.o.Repo.Only(ctx, q.Tip.Commit, not...)
		if err != nil {
			return "", behind, err
		}
		for _, i := range q.Includes {
			if in[i.Commit] && !slices.ContainsFunc(found, func(f board.Included) bool { return f.Task == i.Task }) {
				found = append(found, i)
			}
		}
	}
	others, err := board.Strange(ctx, q.Task, found, l.o.Board.Get)
	if err != nil || len(others) == 0 {
		return "", behind, err
	}
	other := &others[0].Task
	commit := found[slices.IndexFunc(found, func(f board.Included) bool { return f.Task == other.ID })].Commit
	state := ""
	switch other.Status {
	case board.InReview:
		state = "which is in review: it lands after that"
	case board.Landing:
		state = "which waits to be landed: it lands after that"
	case board.Done:
		state = "which was undone, or has landed without it"
	default:
		state = fmt.Sprintf("which is %v and has not landed", other.State())
	}
	return fmt.Sprintf("it includes commit %s of %v, %s; to send it back: bossman land return %v -m \"leave out the work of %v\"",
		git.Short(commit), other.ID, state, q.Task.ID, other.ID), other.ID, nil
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
