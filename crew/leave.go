package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
)

// close ends what the slot has of a job: it stores the last state, makes the worktree leave the
// branch of the task, and sets that branch. a is the attempt as the board has it. unsafe says why the
// worktree must not be used again, if it must not. None of the steps needs another one to succeed.
// It returns the last state, or the one that was accepted, empty if there is nothing.
func (s *slot) close(ctx context.Context, tree *git.Repo, a standing, unsafe string) (commit string, err error) {
	done, lost := accepted(ctx, s.r.o.Repo, a.Attempt)
	commit, err = s.store(ctx, tree, a, done)
	whole := err == nil
	if err != nil {
		unsafe = cmp.Or(unsafe, fmt.Sprintf("its last state could not be stored: %v", err))
	}
	if done != "" && s.r.o.Repo.Ref(refOf(s.kept.Task, s.kept.Attempt)) != done {
		lost = errors.Join(lost, s.r.o.Repo.SetRef(ctx, refOf(s.kept.Task, s.kept.Attempt), done, ""))
	}
	commit = cmp.Or(done, commit)
	if task, err := s.guest(ctx); err == nil && task != "" {
		unsafe = cmp.Or(unsafe, task+" is worked on there by another agent")
	}
	if unsafe == "" {
		if err := tree.Checkout(ctx, "", cmp.Or(commit, s.kept.Base), false, s.r.o.Accept); err != nil {
			unsafe = fmt.Sprintf("it cannot be made clean: %v", err)
		}
	}
	var moved error
	if unsafe != "" {
		var dir string
		if dir, moved = s.moveAway(ctx, unsafe); dir != "" && !whole {
			s.kept.Aside = aside{s.kept.Claim, dir}
		}
	}
	if err = nil; errors.Is(lost, errGone) {
		err = s.setBranch(ctx, "") // what came after the report is not the task's work
	} else if !a.later || commit == "" || !a.task.Terminal() && s.r.o.Repo.Branch(s.kept.Branch) != "" { // else the later attempt has seen to it
		err = s.setBranch(ctx, commit)
	}
	s.kept.free()
	return commit, errors.Join(lost, moved, err, s.keep())
}

// setBranch makes the branch of the task have a state. A branch that has something else, or that is
// checked out elsewhere, stays as it is. Without a state, a branch that was made for the job is deleted.
func (s *slot) setBranch(ctx context.Context, commit string) (err error) {
	repo, ref := s.r.o.Repo, "refs/heads/"+s.kept.Branch
	tip := repo.Branch(s.kept.Branch)
	if commit == "" {
		if s.kept.Fresh && tip == s.kept.Base && tip != "" && !s.elsewhere() {
			err = repo.SetRef(ctx, ref, "", tip)
		}
		return err
	}
	can, err := s.canSetBranch(ctx, commit)
	if can && tip != commit {
		err = repo.SetRef(ctx, ref, commit, cmp.Or(tip, strings.Repeat("0", len(commit))))
	}
	return err
}

// canSetBranch reports whether the branch of the task can be made to have a state: it has nothing else,
// is not checked out elsewhere, and no branch below it is in the way.
func (s *slot) canSetBranch(ctx context.Context, commit string) (bool, error) {
	repo := s.r.o.Repo
	tip := repo.Branch(s.kept.Branch)
	if s.elsewhere() || tip == "" && !repo.CanMake(s.kept.Branch) {
		return false, nil
	}
	return s.behind(ctx, tip, commit)
}

// elsewhere reports whether the branch of the task is checked out in another worktree.
func (s *slot) elsewhere() bool {
	other := s.r.o.Repo.Worktree(s.kept.Branch, s.dir)
	return other != nil && other.Root != s.dir
}

// asideInfix stands between the name of a slot and a number in the names of worktrees that were moved
// away.
const asideInfix = ".aside-"

// moveAway moves the slot's worktree away, which must not be used again, so that the slot gets a
// new one. It returns where it is, if it is anywhere. The error says that, too.
func (s *slot) moveAway(ctx context.Context, why string) (dir string, err error) {
	if err := git.OwnDir(s.r.dir); err != nil {
		return "", err
	}
	to := fmt.Sprintf("%s%s%d", s.dir, asideInfix, time.Now().UnixMilli())
	modules, failed := s.r.o.Repo.Aside(ctx, s.dir, to)
	_, gone := os.Lstat(s.dir)
	_, none := os.Lstat(to)
	switch {
	case gone == nil:
		return "", fmt.Errorf("the worktree %q is not used any more, and cannot be moved: %w; %s", s.dir, failed, why)
	case none != nil:
		err = fmt.Errorf("the worktree %q is gone", s.dir)
	default:
		dir = to
		look := "look at it"
		if _, err := s.r.o.Repo.Linked(to); err != nil {
			look += ", but run no git there while it has a .git: its agent may have made that, and git runs what it says"
		}
		err = fmt.Errorf("the worktree is now %q, and a new one is made: %s; %s; delete it when nothing there is needed", to, why, look)
	}
	if claims, err := s.others(ctx); err == nil {
		s.kept.Departed = nil
		for _, c := range claims {
			if c.Where.Dir == s.dir {
				s.kept.Departed = append(s.kept.Departed, c.Handle.String())
			}
		}
	}
	if modules != "" {
		err = fmt.Errorf("%w; the repositories of its submodules are in %q", err, modules)
	}
	return dir, errors.Join(err, failed)
}

// recover sees to the end of a job whose run was killed, or did not reach the board then. The error
// is one of the board, and it can be tried again.
func (s *slot) recover(ctx context.Context) error {
	if s.reviews && s.kept.Desk != "" { // of a review, which leaves nothing else
		s.clearKeptDesk()
		s.kept.free()
		return s.keep()
	}
	if s.kept.Task == "" {
		return nil
	}
	if _, err := board.ParseID(s.kept.Task); err != nil || s.kept.Attempt < 1 || !strings.HasPrefix(s.kept.Branch, branchPrefix) || !git.IsObject(s.kept.Base) {
		s.report(Trouble, fmt.Sprintf("%q was not written by Bossman, and is not used", s.file))
		s.kept = kept{}
		return s.keep()
	}
	s.clearKeptDesk()
	tree, err := s.room()
	unsafe := s.kept.Unsafe
	if err != nil {
		unsafe = cmp.Or(unsafe, err.Error())
	}
	if s.kept.Preparing { // the job has not begun
		if tree != nil {
			if err := tree.Checkout(ctx, "", s.kept.Base, false, s.r.o.Accept); err != nil {
				unsafe = fmt.Sprintf("it cannot be made clean: %v", err)
			}
		}
		if unsafe != "" {
			_, moved := s.moveAway(ctx, unsafe)
			s.report(Trouble, moved.Error())
		}
		err := s.setBranch(ctx, "")
		s.kept.free()
		if err := errors.Join(err, s.keep()); err != nil {
			s.report(Trouble, err.Error())
		}
		return nil
	}
	a, err := s.standing(ctx)
	if err != nil {
		return err
	}
	a.held = false // nobody goes on with it now, nor tells the board what it left
	job := fmt.Sprintf("%s, attempt %d", s.kept.Task, s.kept.Attempt)
	commit, err := s.close(ctx, tree, a, unsafe)
	merge := ""
	if a.accepted && !a.unchanged {
		merge = mergeCommand(ctx, s.r.o.Repo, a.Attempt)
	}
	switch {
	case merge != "":
		s.report(Trouble, fmt.Sprintf("an earlier run ended before it saw to the end of %s, which is done: %s", job, merge))
	case commit != "":
		s.report(Trouble, fmt.Sprintf("the state that an earlier run left of %s, was stored as commit %s", job, git.Short(commit)))
	}
	if err != nil {
		s.report(Trouble, err.Error())
	}
	return nil
}

// standing reads the slot's job as the board has it now. It is zero if that is another board.
func (s *slot) standing(ctx context.Context) (standing, error) {
	h, err := board.ParseHandle(s.kept.Claim)
	if err != nil {
		return standing{}, nil
	}
	a, err := s.r.standing(ctx, h)
	if errors.Is(err, board.ErrNotFound) {
		err = nil
	}
	return a, err
}

// clearKeptDesk removes the files of a job whose run was killed.
func (s *slot) clearKeptDesk() {
	info, err := os.Lstat(s.kept.Desk)
	if err == nil && info.IsDir() && ownedByUser(info) && filepath.Dir(s.kept.Desk) == filepath.Clean(os.TempDir()) && strings.HasPrefix(filepath.Base(s.kept.Desk), deskPrefix) {
		if desk, err := plaindir.Open(s.kept.Desk); err == nil {
			clearDesk(desk)
		}
	}
}
