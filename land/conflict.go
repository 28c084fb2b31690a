package land

import (
	"context"

	"github.com/bossman-dev/bossman/board"
)

// otherSide returns the task whose work the work of another one conflicts with, zero if it is not known. sure is set if it has
// changed the same lines; else it is the one that has changed the files last.
func (l *Lander) otherSide(ctx context.Context, tip string, q board.Queued, files []string) (other board.ID, sure bool) {
	base, err := l.o.Repo.MergeBase(ctx, tip, q.Tip.Commit)
	if err != nil {
		base = q.Tip.Base
	}
	if base != "" {
		commits, err := l.o.Repo.Clashes(ctx, base, tip, q.Tip.Commit, files)
		for _, commit := range commits {
			if err != nil {
				break
			}
			if id := l.taskOf(ctx, commit); !id.IsZero() && id != q.Task.ID {
				return id, true
			}
		}
		if len(commits) > 0 { // they are nobody's on the board
			return other, false
		}
	}
	last, err := l.o.Repo.LastTouched(ctx, base, tip, files)
	if err != nil || last == "" {
		return other, false
	}
	return l.taskOf(ctx, last), false
}

// taskOf returns the task whose work a commit of the target is, zero if that is not known, or if it is a task of another board.
func (l *Lander) taskOf(ctx context.Context, commit string) board.ID {
	name, err := l.o.Repo.Trailer(ctx, commit, taskTrailer)
	if err != nil {
		return board.ID{}
	}
	id, err := board.ParseID(name)
	if err != nil {
		return board.ID{}
	}
	moves, err := l.o.Board.Intents(ctx, board.IntentFilter{Project: l.o.Project, Task: id, State: board.IntentLanded, Limit: 1})
	if err != nil || len(moves) == 0 {
		return board.ID{}
	}
	if own, err := l.target.landed(ctx, moves[0], commit); err != nil || !own {
		return board.ID{}
	}
	return id
}
