package land

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
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

// past reads what has landed on the target, also when that was pull requests for the same branch.
func (l *Lander) past(ctx context.Context, tip string) (p past, err error) {
	intents, err := l.o.Board.Intents(ctx, board.IntentFilter{Project: l.o.Project, State: board.IntentLanded, Limit: maxLanded})
	if err != nil {
		return p, err
	}
	if intents = onBranch(intents, l.o.Target); len(intents) == 0 {
		return p, nil
	}
	p.moves = intents
	reverted, err := l.reverted(ctx, intents[len(intents)-1].New, tip)
	if err != nil {
		return p, err
	}
	for n, intent := range intents {
		for _, item := range intent.Items {
			undone, err := l.isUndone(ctx, intent, reverted[item.Task])
			if err != nil {
				return p, err
			}
			if undone {
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

// isUndone reports whether one of some commits that were undone is one with which an intent landed work: those of other boards are not.
func (l *Lander) isUndone(ctx context.Context, i board.Intent, commits []string) (bool, error) {
	for _, commit := range commits {
		if own, err := l.target.landed(ctx, i, commit); err != nil || own {
			return own, err
		}
	}
	return false, nil
}

// onBranch returns the moves of a target's branch, in whatever way work landed there then.
func onBranch(intents []board.Intent, target board.Target) []board.Intent {
	return slices.DeleteFunc(intents, func(i board.Intent) bool {
		at, err := board.ParseTarget(i.Target)
		return err != nil || at.Remote != target.Remote || at.Branch != target.Branch
	})
}

// reverted returns the commits that were undone in the target since one of its commits, by task. An undo that was itself undone does not
// count. Commits that a merge brought are looked at, too: people merge the target as they like.
func (l *Lander) reverted(ctx context.Context, oldest, tip string) (map[board.ID][]string, error) {
	list := map[board.ID][]string{}
	if in, err := l.target.contains(ctx, tip, oldest); err != nil || !in {
		return list, err
	}
	marked, err := l.o.Repo.Marked(ctx, oldest, tip, undoesTrailer)
	if err != nil {
		return nil, err
	}
	for _, c := range marked { // what undoes another one comes before it
		task, err := l.o.Repo.Trailer(ctx, c.Commit, taskTrailer)
		if err != nil {
			return nil, err
		}
		if id, err := board.ParseID(task); err == nil {
			if back, err := l.broughtBy(ctx, list[id], c.Commit); err != nil {
				return nil, err
			} else if back {
				continue
			}
		}
		for _, value := range c.Values {
			id, landed, ok := parseUndoes(value)
			if !ok {
				continue
			}
			if own, err := l.target.isUndo(ctx, l.o.Board.Get, c.Commit, id, landed); err != nil {
				return nil, err
			} else if own {
				list[id] = append(list[id], landed)
			}
		}
	}
	return list, nil
}

// broughtBy reports whether a commit is one of some others, or came into the target with one of them that is a merge.
func (l *Lander) broughtBy(ctx context.Context, commits []string, commit string) (bool, error) {
	for _, landed := range commits {
		if landed == commit {
			return true, nil
		}
		if in, err := l.target.contains(ctx, landed, commit); err != nil || !in {
			if err != nil {
				return false, err
			}
			continue
		}
		merge, err := l.o.Repo.Logged(ctx, landed)
		if err != nil || len(merge) != 1 || len(merge[0].Parents) < 2 {
			continue
		}
		for _, parent := range merge[0].Parents {
			if in, err := l.target.contains(ctx, parent, commit); err != nil || !in {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// candidate merges work with the target. What a task does again may have been taken out of the target in a way that history does not tell,
// as by a revert: then the former work does not count as landed.
func (l *Lander) candidate(ctx context.Context, room *git.Repo, c git.Candidate, q board.Queued, had past) (git.Merged, error) {
	m, err := room.Candidate(ctx, c, l.o.Accept)
	if err != nil || len(m.Missing)+len(m.Conflicts) == 0 || q.Task.Redoes.IsZero() {
		return m, err
	}
	former, err := board.Redone(ctx, q.Task, l.o.Board.Get)
	if err != nil {
		return m, err
	}
	redone := map[string]bool{}
	for _, move := range had.moves {
		for _, item := range move.Items {
			redone[item.Tip] = redone[item.Tip] || slices.ContainsFunc(former, func(d board.Dossier) bool { return d.Task.ID == item.Task })
		}
	}
	c.Landed, c.Undone = nil, slices.Clone(c.Undone)
	for _, land := range had.landed {
		if !redone[land.Tip] {
			c.Landed = append(c.Landed, land)
			continue
		}
		if left, err := l.left(ctx, c, land.Tip); err != nil || left {
			return m, err
		}
		c.Undone = append(c.Undone, land.Tip)
	}
	again, err := room.Candidate(ctx, c, l.o.Accept)
	if err != nil || len(again.Missing)+len(again.Conflicts) > 0 {
		return m, err
	}
	return again, nil
}

// left reports whether the target still has a file as work that has landed changed it: then that was not taken out as a whole, and others have
// decided about the rest.
func (l *Lander) left(ctx context.Context, c git.Candidate, tip string) (bool, error) {
	work, err := l.o.Repo.ChangedTo(ctx, c.Shown, tip)
	if err != nil {
		return false, err
	}
	var pairs [][2]string
	paths := slices.Sorted(maps.Keys(work))
	for _, path := range paths {
		pairs = append(pairs, [2]string{c.Target, path})
	}
	objects, err := l.o.Repo.Objects(ctx, pairs)
	if err != nil {
		return false, err
	}
	for n, path := range paths {
		if objects[n] == work[path] {
			return true, nil
		}
	}
	return false, nil
}

// missing says why work does not land of which a part would be missing in the target that reviewers were shown.
func (l *Lander) missing(q board.Queued, m git.Merged) string {
	if len(m.Missing) == 0 {
		return ""
	}
	return fmt.Sprintf("reviewers were shown what it changes in %.200q, and %s would not get that: it was there before, and was taken out; to send it back: bossman land return %v -m \"merge %s, and make these changes anew, or leave them out\"",
		visible.Line(m.Missing[0]), l.o.Target, q.Task.ID, l.o.Target)
}
