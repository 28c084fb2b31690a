package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// Look looks at the work that an earlier attempt left at a place. ok is false if it cannot
// be looked at from here: it is on another machine or in another repository.
func (i *Inspector) Look(ctx context.Context, left board.Where) (s board.Sight, ok bool) {
	host, _ := os.Hostname()
	repo, err := i.repo()
	if err != nil || left.Dir == "" || left.Host != host {
		return board.Sight{}, false
	}
	_, err = os.Stat(left.Dir)
	gone := errors.Is(err, fs.ErrNotExist)
	if repo == nil {
		return board.Sight{Where: left, DirGone: gone}, gone
	}
	branch := left.Branch
	if left.Ordered != "" && !left.Named {
		branch = left.Ordered // what is in the directory is another worker's
	} else if tree, ok := git.At(left.Dir); ok && tree.Common == repo.Common {
		head, err := tree.Head()
		if err == nil && head.Branch == branch {
			return i.sight(ctx, left, tree), true
		}
		if err == nil && head.Branch != "" && !left.Worked && git.Short(repo.Branch(branch)) == git.Short(left.Head) {
			s := i.sight(ctx, left, tree)
			s.Unsure = true
			return s, true
		}
	} else if !gone {
		return board.Sight{}, false
	}
	if tree := repo.Worktree(branch, left.Dir); tree != nil && branch != "" {
		return i.sight(ctx, left, tree), true
	}
	s = board.Sight{Where: left, DirGone: gone}
	s.Where.Branch, s.Where.Uncommitted, s.Where.Worked = branch, 0, left.Worked && !left.Away()
	if commit := repo.Branch(branch); commit != "" {
		s.Where.Head = git.Short(commit)
		s.Where.Worked = s.Where.Worked || branch != left.Branch || s.Where.Head != left.Head
	} else {
		s.BranchGone = branch != ""
	}
	if !gone {
		s.Where.Dir = "" // something else is there
	}
	return s, true
}

// sight is what a worktree has of the work that was left at a place.
func (i *Inspector) sight(ctx context.Context, left board.Where, tree *git.Repo) board.Sight {
	now := i.where(ctx, tree)
	now.Ordered, now.Named, now.Client = left.Ordered, left.Named, left.Client
	now.Worked = left.Worked || now.Branch != left.Branch || now.Head != left.Head || now.Uncommitted != left.Uncommitted
	return board.Sight{Where: now}
}

// Apart returns the room for a worker that is not to work at a place, where another one does:
// the branch that is asked for and a directory beside the place, unless these are taken.
func (i *Inspector) Apart(at board.Where, branch string) board.Room {
	room := board.Room{Branch: branch, Dir: at.Dir + ".worktrees/" + branch}
	tree, ok := git.At(at.Dir)
	if !ok {
		return room
	}
	for n := 0; n < maxApart && !tree.CanMake(room.Branch); n++ {
		room.Branch = fmt.Sprintf("%s-w%d", branch, n+1)
	}
	dirs := []string{room.Dir}
	for n := range maxApart {
		dirs = append(dirs, fmt.Sprintf("%s-w%d", room.Dir, n+1))
	}
	dirs = append(dirs, at.Dir+"-"+branch)
	if n := slices.IndexFunc(dirs, tree.CanAdd); n >= 0 {
		room.Dir = dirs[n]
	}
	head, err := tree.Head()
	room.Unborn, room.Stale = err == nil && head.Commit == "", tree.Stale()
	return room
}

// maxApart is how many other names Apart tries.
const maxApart = 9
