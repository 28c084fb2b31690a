package crew

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/proc"
)

// Seen corrects what was seen of the work of an attempt, if that is in the worktree of a slot. As long
// as a runner has the slot, nobody else is to work there, and what is there now may be another task's:
// the work is on its branch or, if it is not or not yet there, under the ref of the attempt. Only what a
// run that was killed has left of the attempt is still in the worktree alone.
func Seen(ctx context.Context, repo *git.Repo, a board.Attempt, seen board.Sight) board.Sight {
	r := New(&Options{Repo: repo})
	for _, dir := range slices.Compact([]string{seen.Where.Dir, a.Where.Dir}) {
		if s := r.slot(filepath.Base(dir), nil); dir == s.dir && s.kept.Made {
			seen = s.seen(ctx, a, seen)
		}
	}
	return seen
}

// seen corrects what was seen of the work of an attempt in the slot's worktree.
func (s *slot) seen(ctx context.Context, a board.Attempt, seen board.Sight) board.Sight {
	dir, err := s.r.openSlots()
	if err != nil {
		return seen
	}
	defer dir.Close()
	unlock, free, err := proc.TryLockIn(dir, s.name+".lock")
	if free {
		defer unlock()
	}
	own := !a.Handle.IsZero() && s.kept.Claim == a.Handle.String() && !s.kept.Preparing // its end was not seen to yet
	if err != nil || free && own {
		return seen
	}
	if !free && seen.Where.Dir == s.dir {
		seen.Where.Dir, seen.Where.Uncommitted = "", 0
	}
	if a.Where.Dir != s.dir || a.Handle.IsZero() {
		return seen
	}
	repo, ref := s.r.o.Repo, refOf(a.Task.String(), a.Handle.Attempt)
	if own {
		seen.Ref, seen.Ending = ref, true
		return seen
	}
	stored := repo.Ref(ref)
	if mine, err := ofAttempt(ctx, repo, stored, a); err != nil || !mine {
		stored = ""
	}
	tip := repo.Branch(a.Where.Branch)
	behind, err := s.behind(ctx, tip, stored)
	switch {
	case stored != "" && tip != stored && err == nil && behind && (tip != "" || a.Where.Branch == ""):
		seen = board.Sight{Where: a.Where, Ref: ref}
		seen.Where.Dir, seen.Where.Head, seen.Where.Uncommitted, seen.Where.Worked = "", git.Short(stored), 0, true
	case a.Where.Branch == "": // what is there is not its work
		seen = board.Sight{}
	}
	return seen
}
