package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// branchPrefix begins the branches of tasks.
const branchPrefix = "bossman/"

// refOf is the ref of the last state of an attempt.
func refOf(task string, attempt int) string {
	return "refs/bossman/" + task + "/" + strconv.Itoa(attempt)
}

// A state is what an attempt left.
type state struct {
	commit string
	// what says what it is, for the agent that goes on with it.
	what string
}

// states lists what earlier attempts left in this clone and is not in what is checked out, the
// newest first.
func (s *slot) states(ctx context.Context, h *board.Handout) (list []state, err error) {
	repo, id := s.r.o.Repo, h.Task.ID.String()
	add := func(commit, what string) {
		if commit == "" || err != nil || slices.ContainsFunc(list, func(k state) bool { return k.commit == commit }) {
			return
		}
		var in bool
		if in, err = repo.Contained(ctx, commit); err == nil && !in {
			list = append(list, state{commit, what})
		}
	}
	for n := h.Claim.Attempt - 1; n > 0; n-- {
		at := board.Where{}
		for _, a := range h.Attempts {
			if a.Attempt == n {
				at = a.Where
			}
		}
		stored := repo.Ref(refOf(id, n))
		if at.Clone == repo.CloneID() && at.Branch != "" {
			tip := repo.Branch(at.Branch)
			if behind, failed := s.behind(ctx, tip, stored); failed == nil && !behind {
				add(tip, fmt.Sprintf("branch %q, on which attempt %d worked", at.Branch, n))
			}
		}
		add(stored, fmt.Sprintf("the last state of attempt %d", n))
		if at.Worked && at.Head != "" && at.Clone == repo.CloneID() {
			if commit, failed := repo.Commit(ctx, at.Head); failed == nil {
				add(commit, fmt.Sprintf("where attempt %d was last seen; files that were not committed are not in it", n))
			}
		}
	}
	return list, err
}

// behind reports whether a commit is in another one, or there is none.
func (s *slot) behind(ctx context.Context, commit, other string) (bool, error) {
	if commit == "" || other == "" || commit == other {
		return commit == "" || commit == other, nil
	}
	return s.r.o.Repo.Contains(ctx, other, commit)
}

// base returns the commit that an attempt begins from, and what that is, for the agent.
func (s *slot) base(ctx context.Context, h *board.Handout) (commit, begins string, err error) {
	list, err := s.states(ctx, h)
	if err != nil {
		return "", "", err
	}
	if len(list) == 0 {
		head, err := s.r.o.Repo.Head()
		if err == nil && head.Commit == "" {
			err = errors.New("the repository has no commit yet: make one first")
		}
		return head.Commit, "", err
	}
	begins = fmt.Sprintf("It begins from commit %s, %s: go on with that.", git.Short(list[0].commit), list[0].what)
	for _, other := range list[1:min(len(list), 4)] {
		if in, err := s.behind(ctx, other.commit, list[0].commit); err == nil && !in {
			begins += fmt.Sprintf(" Not in it: commit %s, %s.", git.Short(other.commit), other.what)
		}
	}
	return list[0].commit, begins, nil
}

// branch returns the branch for an attempt at a task that begins from a commit. It is that of the
// task, unless this has something else, or is checked out elsewhere.
func (s *slot) branch(ctx context.Context, h *board.Handout, base string) (string, error) {
	repo := s.r.o.Repo
	for _, name := range []string{"", fmt.Sprintf("-attempt-%d", h.Claim.Attempt), fmt.Sprintf("-attempt-%d-%s", h.Claim.Attempt, h.Claim.Nonce)} {
		branch := branchPrefix + h.Task.ID.String() + name
		tip := repo.Branch(branch)
		if tip == "" && !repo.CanMake(branch) {
			return "", fmt.Errorf("branch %q cannot be made beside the branches that are there: rename branch %q", branch, strings.TrimSuffix(branchPrefix, "/"))
		}
		if other := repo.Worktree(branch, s.dir); other != nil && other.Root != s.dir {
			continue
		}
		behind, err := s.behind(ctx, tip, base)
		if err != nil {
			return "", err
		}
		if behind {
			return branch, nil
		}
	}
	return "", fmt.Errorf("the branches for %v are taken", h.Task.ID)
}

// prepare makes the slot's worktree for an attempt.
func (s *slot) prepare(ctx context.Context, h *board.Handout) (tree *git.Repo, begins string, err error) {
	repo := s.r.o.Repo
	if other := repo.Worktree(branchPrefix+h.Task.ID.String(), s.dir); other != nil && other.Root != s.dir {
		s.r.recoverOthers(ctx) // it may be in a slot of a run that has died meanwhile
	}
	base, begins, err := s.base(ctx, h)
	if err != nil {
		return nil, "", err
	}
	branch, err := s.branch(ctx, h, base)
	if err != nil {
		return nil, "", err
	}
	if tree, err = s.room(); err != nil {
		return nil, "", err
	}
	if tree == nil {
		if tree, err = repo.AddWorktree(ctx, s.dir, base, s.r.o.Accept); err != nil {
			return nil, "", err
		}
	}
	ref := refOf(h.Task.ID.String(), h.Claim.Attempt)
	if err := repo.CanSet(ref); err != nil {
		return nil, "", err
	}
	if old := repo.Ref(ref); old != "" { // of another board that this clone had
		if err := repo.SetRef(ctx, fmt.Sprintf("%s-before-%d", ref, time.Now().Unix()), old, ""); err != nil {
			return nil, "", err
		}
	}
	s.kept = kept{Worker: s.kept.Worker, Task: h.Task.ID.String(), Attempt: h.Claim.Attempt, Branch: branch, Title: h.Task.Title}
	if err := s.keep(); err != nil {
		return nil, "", err
	}
	if err := tree.Checkout(ctx, branch, base, false, s.r.o.Accept); err == nil || ctx.Err() != nil {
		return tree, begins, err
	}
	// The last task may have left files that this user cannot delete.
	s.report(Trouble, s.moveAway("it cannot be made clean").Error())
	if tree, err = repo.AddWorktree(ctx, s.dir, base, s.r.o.Accept); err != nil {
		return nil, "", err
	}
	return tree, begins, tree.Checkout(ctx, branch, base, false, s.r.o.Accept)
}

// moveAway moves the slot's worktree away, which must not be used again, so that the slot gets a
// new one. The error says where it is.
func (s *slot) moveAway(why string) error {
	aside := fmt.Sprintf("%s.aside-%d", s.dir, time.Now().UnixMilli())
	if err := os.Rename(s.dir, aside); err != nil {
		return err
	}
	return fmt.Errorf("the worktree is now %q: %s", aside, why)
}

// snapshot stores the state of the worktree as a commit: what is checked out, or a new one on top
// of that if files differ from it.
func (s *slot) snapshot(ctx context.Context, tree *git.Repo, summary string) (string, error) {
	return s.commit(ctx, tree, git.Snapshot{}, summary)
}

// commit stores a snapshot as a commit; the zero one is what is there now.
func (s *slot) commit(ctx context.Context, tree *git.Repo, snap git.Snapshot, summary string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	stored, err := tree.Store(ctx, s.r.o.Accept, snap, refOf(s.kept.Task, s.kept.Attempt), s.message(summary))
	if len(stored.Submodules) > 0 {
		s.report(Trouble, fmt.Sprintf("what is not committed or not pushed in submodules is only in their own repositories: %q", stored.Submodules))
	}
	if len(stored.Inner) > 0 {
		s.report(Trouble, fmt.Sprintf("repositories of their own in the worktree are in no commit: %q", stored.Inner))
	}
	return stored.Commit, err
}

// snapshotTime bounds how long a snapshot takes: a large worktree is read whole.
const snapshotTime = 5 * time.Minute

// message is that of a snapshot's commit.
func (s *slot) message(summary string) string {
	text := s.kept.Title + "\n\n"
	if summary != "" {
		text += summary + "\n\n"
	}
	return text + fmt.Sprintf("Bossman-Task: %s\nBossman-Attempt: %d\nBossman-Worker: %s\n", s.kept.Task, s.kept.Attempt, s.kept.Worker)
}

// leave makes the slot's worktree leave the branch of the task. The branch gets the last state,
// unless it has something that this does not have: then it stays as the agent left it. If it has
// nothing that is not checked out in the repository, it is deleted, unless keep is set.
func (s *slot) leave(ctx context.Context, tree *git.Repo, commit string, keep bool) error {
	repo, ref := s.r.o.Repo, "refs/heads/"+s.kept.Branch
	tip := tree.Branch(s.kept.Branch)
	dirty := tree.Checkout(ctx, "", commit, false, s.r.o.Accept)
	if dirty != nil {
		dirty = errors.Join(dirty, s.moveAway("it cannot be made clean"))
	}
	behind, err := s.behind(ctx, tip, commit)
	if err != nil {
		return err
	}
	if behind && s.kept.Branch != "" {
		to := commit
		if nothing, err := repo.Contained(ctx, commit); err != nil {
			return err
		} else if nothing && !keep {
			to = ""
		}
		if err := repo.SetRef(ctx, ref, to, ""); err != nil {
			return errors.Join(dirty, err)
		}
	}
	s.kept = kept{Worker: s.kept.Worker}
	return errors.Join(dirty, s.keep())
}

// recover stores what an earlier run left in the worktree, if that was killed.
func (s *slot) recover(ctx context.Context) error {
	if s.kept.Task == "" {
		return nil
	}
	tree, err := s.room()
	if err != nil {
		return err
	}
	if tree == nil {
		s.kept = kept{Worker: s.kept.Worker}
		return s.keep()
	}
	if _, err := board.ParseID(s.kept.Task); err != nil || s.kept.Attempt < 1 || !strings.HasPrefix(s.kept.Branch, branchPrefix) {
		return fmt.Errorf("%q was not written by Bossman: delete it", s.file)
	}
	ref := refOf(s.kept.Task, s.kept.Attempt)
	done := s.r.o.Repo.Ref(ref) // a report was accepted: what came after it is kept apart
	if done != "" {
		ref += "-end"
	}
	commit, err := s.snapshot(ctx, tree, "")
	if err == nil {
		err = tree.SetRef(ctx, ref, commit, "")
	}
	if err != nil {
		return err
	}
	s.report(Trouble, fmt.Sprintf("the state that an earlier run left of %s, attempt %d, was stored as commit %s", s.kept.Task, s.kept.Attempt, git.Short(commit)))
	return s.leave(ctx, tree, cmp.Or(done, commit), done != "")
}
