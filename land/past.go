package land

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// maxLanded is how many moves of the target are looked at, and maxTidied after how many of them branches
// are deleted that a worktree may have had at first.
const maxLanded, maxTidied = 1000, 50

// A past is the work that has landed, with the commits that it has become, and the tips of that which was undone.
// Work that goes on from what has landed does not conflict with itself.
type past struct {
	landed []git.Landing
	undone []string
	moves  []board.Intent // the newest ones
}

// past reads what has landed on the target.
func (l *Lander) past(ctx context.Context, tip string) (p past, err error) {
	intents, err := l.o.Board.Intents(ctx, board.IntentFilter{Project: l.o.Project, Target: l.o.Target.String(), State: board.IntentLanded, Limit: maxLanded})
	if err != nil || len(intents) == 0 {
		return p, err
	}
	p.moves = intents
	reverted := map[string]bool{}
	oldest := intents[len(intents)-1].New
	if in, err := l.target.contains(ctx, tip, oldest); err != nil {
		return p, err
	} else if in {
		log, err := l.o.Repo.Log(ctx, oldest, tip, undoesTrailer)
		if err != nil {
			return p, err
		}
		for _, c := range log {
			for _, id := range c.Values {
				reverted[id] = true
			}
		}
	}
	for n, intent := range intents {
		for _, item := range intent.Items {
			if reverted[item.Task.String()] {
				p.undone = append(p.undone, item.Tip)
			} else {
				p.landed = append(p.landed, git.Landing{Commit: intent.New, Tip: item.Tip})
			}
			if n < maxTidied {
				l.target.tidy(ctx, item)
			}
		}
	}
	return p, nil
}
