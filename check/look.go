package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// Look looks at the work that an earlier attempt left at its place. ok is false if it cannot
// be looked at from here: it is on another machine or in another repository.
func (i *Inspector) Look(ctx context.Context, a board.Attempt) (s board.Sight, ok bool) {
	repo, err := i.repo()
	if err != nil || a.Where.Dir == "" {
		return board.Sight{}, false
	}
	s, ok = i.look(ctx, repo, a.Where)
	if ok && repo != nil && i.Slots != nil {
		s = i.Slots(ctx, repo, a, s)
	}
	if ok && repo != nil && s.Ref == "" {
		var stored bool
		if s, stored = i.formerAt(ctx, repo, a, s); !stored {
			ends(ctx, repo, a, &s)
		}
	}
	return s, ok
}

// ends finds the commit that the work of an attempt ends with, if the branch that was seen does not
// end with it: it is gone, or it has moved since the attempt reported done. Files that were not
// committed at the report may have been committed since.
func ends(ctx context.Context, repo *git.Repo, a board.Attempt, s *board.Sight) {
	reported, head := a.Cause == board.CauseDone, a.Where.Head
	if a.Where.Away() { // that is another worker's
		head = ""
	}
	if s.Where.IsZero() || !s.BranchGone && (!reported || head == "" || a.Where.Uncommitted > 0 || strings.HasPrefix(s.Where.Head, head) || strings.HasPrefix(head, s.Where.Head) && s.Where.Head != "") {
		return
	}
	commit, err := repo.Abbreviated(ctx, head) // an agent can give a branch or a tag the name of a commit
	s.Lost = head != "" && commit == "" && err == nil
	if s.BranchGone {
		if tracking, tip := repo.Tracking(s.Where.Branch); tip != "" {
			newer := commit == ""
			if !newer {
				newer, err = repo.Contains(ctx, tip, commit)
			}
			if newer && err == nil {
				s.Tracking = tracking
				if commit == "" || !reported { // what was reported was judged
					commit = tip
				}
			}
		}
	}
	if s.Commit = commit; commit != "" {
		s.Here, _ = repo.Contained(ctx, commit)
	}
}

// look is Look in a repository; nil is outside git.
func (i *Inspector) look(ctx context.Context, repo *git.Repo, left board.Where) (s board.Sight, ok bool) {
	here := i.stand(repo)
	if !left.SameClone(here) {
		return board.Sight{}, false
	}
	_, err := os.Stat(left.Dir)
	gone := errors.Is(err, fs.ErrNotExist)
	if repo == nil {
		return board.Sight{Where: left, DirGone: gone}, gone
	}
	branch := left.Branch
	_, there := git.At(left.Dir)
	tree, none := repo.At(left.Dir)
	if left.Ordered != "" && !left.Named {
		branch = left.Ordered // what is in the directory is another worker's
	} else if none == nil {
		head, err := tree.Head()
		if err == nil && head.Branch == branch {
			return i.sight(ctx, left, tree), true
		}
	} else if there || !gone && left.Host == here.Host {
		return board.Sight{}, false
	}
	if tree := repo.Worktree(branch, left.Dir); tree != nil && branch != "" {
		return i.sight(ctx, left, tree), true
	}
	if tree := repo.Held(branch); tree != nil {
		s = i.sight(ctx, left, tree)
		s.Where.Branch, s.Where.Head = branch, git.Short(repo.Branch(branch))
		s.Where.Worked = left.Worked && !left.Away() || branch != left.Branch || s.Where.Head != left.Head
		return s, true
	}
	if tree := repo.Left(branch); tree != nil && branch == left.Ordered && tree.Root != left.Dir {
		// The worker went on in its worktree without a branch.
		if head, err := tree.Head(); err == nil && head.Branch == "" && head.Commit != repo.Branch(branch) {
			return i.sight(ctx, left, tree), true
		}
	}
	s = board.Sight{Where: left, DirGone: gone && left.Host == here.Host} // elsewhere it may have had another name
	s.Where.Branch, s.Where.Uncommitted, s.Where.Worked = branch, 0, left.Worked && !left.Away()
	if commit := repo.Branch(branch); commit != "" {
		s.Where.Head = git.Short(commit)
		s.Where.Worked = s.Where.Worked || branch != left.Branch || s.Where.Head != left.Head
	} else {
		s.BranchGone = branch != ""
	}
	if !s.DirGone {
		s.Where.Dir = "" // something else is there
	}
	return s, true
}

// sight is what a worktree has of the work that was left at a place.
func (i *Inspector) sight(ctx context.Context, left board.Where, tree *git.Repo) board.Sight {
	now := i.where(ctx, tree)
	now.Ordered, now.Named, now.Client = left.Ordered, left.Named, left.Client
	now.Worked = left.Worked || now.Branch != left.Branch || now.Head != left.Head || now.Uncommitted != left.Uncommitted
	return board.Sight{Where: now, UnderWay: tree.UnderWay()}
}

// Leftover returns which of some works comes first whose newest attempt was made in the
// inspector's own worktree, if the files that are not committed there are not as they were before
// it, and how many these are; -1 and 0 if there is none.
func (i *Inspector) Leftover(ctx context.Context, works []board.Work) (first, files int) {
	repo, err := i.repo()
	if err != nil || repo == nil || repo.Bare {
		return -1, 0
	}
	here := i.where(ctx, repo)
	if here.Uncommitted == 0 {
		return -1, 0
	}
	now := sync.OnceValues(func() (git.Loose, error) { return i.loose(ctx, repo) })
	first = slices.IndexFunc(works, func(w board.Work) bool {
		if w.Place.Dir == "" || !w.Place.In(here) {
			return false
		}
		before, known := i.looseBefore(repo, w.First)
		if !known {
			return w.Place.Worked || w.Place.Uncommitted != here.Uncommitted
		}
		loose, err := now()
		return err != nil || before.changed(loose)
	})
	if first < 0 {
		return first, 0
	}
	return first, here.Uncommitted
}

// Apart returns the room for a worker that is not to work at a place, because another one does or
// it is a bare repository: the branch that is asked for and a directory beside the place, unless
// these are taken. Beside web/.bare is in web.
func (i *Inspector) Apart(at board.Where, branch string) board.Room {
	room := board.Room{Branch: branch, Dir: at.Dir + ".worktrees/" + branch}
	tree, ok := git.At(at.Dir)
	if !ok {
		return room
	}
	usable := func(dir string) bool { return tree.CanAdd(dir) && (i.Own == nil || i.Own(dir, nil) == nil) }
	if room.Bare = tree.Bare; tree.Bare && tree.Root != tree.Dir {
		room.Dir = filepath.Join(at.Dir, filepath.FromSlash(branch))
	}
	for n := 0; n < maxApart && !tree.CanMake(room.Branch); n++ {
		room.Branch = fmt.Sprintf("%s-w%d", branch, n+1)
	}
	dirs := []string{room.Dir}
	for n := range maxApart {
		dirs = append(dirs, fmt.Sprintf("%s-w%d", room.Dir, n+1))
	}
	dirs = append(dirs, at.Dir+"-"+branch)
	if n := slices.IndexFunc(dirs, usable); n >= 0 {
		room.Dir = dirs[n]
	}
	head, err := tree.Head()
	room.Modules = slices.ContainsFunc(tree.Worktrees(), func(w *git.Repo) bool {
		_, err := os.Lstat(filepath.Join(w.Root, ".gitmodules"))
		return err == nil
	})
	room.Unborn, room.Stale = err == nil && head.Commit == "", tree.Stale()
	return room
}

// maxApart is how many other names Apart tries.
const maxApart = 9
