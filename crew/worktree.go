package crew

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// branchPrefix begins the branches of tasks.
const branchPrefix = "bossman/"

// A state is what an attempt left.
type state struct {
	commit string
	// what says what it is, for the agent that goes on with it.
	what string
}

// states lists what earlier attempts left in this clone and is not in head, which new work begins from, the
// newest first. Where the work of an attempt is, its worker says. A worker with another key at a
// server is not believed: it could name any branch or commit that this clone happens to have, such as
// one that was only fetched.
func (s *slot) states(ctx context.Context, h *board.Handout, head string) (list []state, err error) {
	repo, id := s.r.o.Repo, h.Task.ID.String()
	add := func(commit, what string) {
		if commit == "" || err != nil || slices.ContainsFunc(list, func(k state) bool { return k.commit == commit }) {
			return
		}
		var in bool
		if in, err = repo.Contains(ctx, head, commit); err == nil && !in {
			list = append(list, state{commit, what})
		}
	}
	for n := h.Claim.Attempt; n > 0; n-- {
		var attempt board.Attempt
		for _, a := range h.Attempts {
			if a.Attempt == n {
				attempt = a
			}
		}
		stored, fetched := repo.Ref(refOf(id, n)), false
		if s.r.o.Onto != nil && attempt.Cause == board.CauseDone { // it may be of another clone
			reported := attempt.Where.Head
			if last, ok := h.Reported(); ok && last.Attempt == n { // files may not have been committed
				reported = h.Doc.Result.Tip.Commit
			}
			if stored == "" {
				if err := s.r.o.Onto.Fetch(ctx, refOf(id, n), reported); err != nil {
					return nil, err
				}
				stored = repo.Ref(refOf(id, n))
			}
			fetched = stored != "" && git.Short(stored) == git.Short(reported) // now, or by a lander
		}
		if own, failed := ofAttempt(ctx, repo, stored, attempt); failed != nil || !own && !fetched { // of another board that this clone had
			stored = ""
		}
		name := fmt.Sprintf("attempt %d", n)
		if n == h.Claim.Attempt { // which is handed out again
			name = "this attempt"
		}
		at := attempt.Where
		here := at.Clone == repo.CloneID() && attempt.Own(h.Claim.Worker.Principal)
		if here && at.Branch != "" {
			if attempt.Cause == board.CauseDone && at.Uncommitted == 0 { // the branch may have moved since
				add(lastSeen(ctx, repo, at), "which "+name+" reported")
			}
			tip := repo.Branch(at.Branch)
			if behind, failed := s.behind(ctx, tip, stored); failed == nil && !behind {
				add(tip, fmt.Sprintf("branch %.80q, on which %s worked", visible.Line(at.Branch), name))
			}
		}
		if n == h.Claim.Attempt {
			add(stored, "the last state of "+name)
			continue
		}
		if stored != "" {
			s.storedAt(h, n, stored)
		}
		if end := repo.Ref(refOf(id, n) + endSuffix); stored != "" && end != "" {
			add(stored, "the state that "+name+" reported")
			add(end, "what "+name+" had in the end")
		}
		add(stored, "the last state of "+name)
		if here {
			add(lastSeen(ctx, repo, at), "where "+name+" was last seen; files that were not committed are not in it")
		}
	}
	return list, err
}

// lastSeen returns the commit that the work of a place was last seen at, empty if there is none. What
// an agent of ours has left was stored, unless it was nothing.
func lastSeen(ctx context.Context, repo *git.Repo, at board.Where) string {
	if !at.Worked || strings.HasPrefix(at.Branch, branchPrefix) {
		return ""
	}
	commit, err := repo.Abbreviated(ctx, at.Head)
	if err != nil {
		return ""
	}
	return commit
}

// storedAt makes a hand-out say where the work of an attempt is now. When its claim ended, files may
// not have been committed, in a worktree that others have now.
func (s *slot) storedAt(h *board.Handout, attempt int, commit string) {
	for i := range h.Attempts {
		if a := &h.Attempts[i]; a.Attempt == attempt && a.Where.Uncommitted > 0 {
			a.Where.Head, a.Where.Uncommitted, a.Where.Dir = git.Short(commit), 0, s.r.o.Repo.Root
		}
	}
}

// behind reports whether a commit is in another one, or there is none.
func (s *slot) behind(ctx context.Context, commit, other string) (bool, error) {
	if commit == "" || other == "" || commit == other {
		return commit == "" || commit == other, nil
	}
	return s.r.o.Repo.Contains(ctx, other, commit)
}

// head returns the commit that new work begins from.
func (r *Runner) head(ctx context.Context) (string, error) {
	if r.o.Onto != nil {
		return r.o.Onto.Tip(ctx)
	}
	head, err := r.o.Repo.Head()
	if err == nil && head.Commit == "" {
		err = errors.New("the repository has no commit yet: make one first")
	}
	return head.Commit, err
}

// base returns the state that an attempt begins from, and what that is, for the agent. If it is what
// is checked out in the repository, nothing is said of it.
func (s *slot) base(ctx context.Context, h *board.Handout) (base state, begins string, err error) {
	head, err := s.r.head(ctx)
	if err != nil {
		return base, "", err
	}
	list, err := s.states(ctx, h, head)
	if err != nil {
		return base, "", err
	}
	missing := s.missing(ctx, h)
	if len(list) == 0 {
		return state{commit: head}, missing, nil
	}
	begins = fmt.Sprintf("It begins from commit %s, %s: go on with that.", git.Short(list[0].commit), list[0].what)
	for _, other := range list[1:min(len(list), 4)] {
		if in, err := s.behind(ctx, other.commit, list[0].commit); err == nil && !in {
			begins += fmt.Sprintf(" Not in it: commit %s, %s.", git.Short(other.commit), other.what)
		}
	}
	return list[0], strings.TrimSpace(begins + " " + missing), nil
}

// missing says that what the last attempt has reported is not in this clone, and where it is; empty if it is here, or if nothing was reported.
func (s *slot) missing(ctx context.Context, h *board.Handout) string {
	last, ok := h.Reported()
	if !ok {
		return ""
	}
	commit := h.Doc.Result.Tip.Commit
	if _, err := s.r.o.Repo.Commit(ctx, commit); err == nil {
		return ""
	}
	return fmt.Sprintf("It does not have what attempt %d reported, commit %s, which is not in this clone: it is in one on %.80q.", last.Attempt, git.Short(commit), visible.Line(last.Where.Host))
}

// branch returns the branch for an attempt at a task that begins from a commit. It is that of the
// task, unless this has something else, is checked out elsewhere, cannot be made because of a branch
// below it, or is locked by a git that was killed.
func (s *slot) branch(ctx context.Context, h *board.Handout, base string) (string, error) {
	repo := s.r.o.Repo
	if top := strings.TrimSuffix(branchPrefix, "/"); repo.Branch(top) != "" {
		return "", fmt.Errorf("git makes no branch %q… beside a branch %q; rename it: git branch -m %s NEWNAME", branchPrefix, top, top)
	}
	for _, name := range []string{"", fmt.Sprintf("-attempt-%d", h.Claim.Attempt), fmt.Sprintf("-attempt-%d-%s", h.Claim.Attempt, h.Claim.Nonce)} {
		branch := branchPrefix + h.Task.ID.String() + name
		tip := repo.Branch(branch)
		if tip == "" && !repo.CanMake(branch) || repo.Locked("refs/heads/"+branch) {
			continue
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

// prepare makes the slot's worktree for the attempt.
func (j *job) prepare(ctx context.Context) (tree *git.Repo, begins string, err error) {
	s, h, repo := j.slot, j.h, j.r.o.Repo
	if err := s.fewAside(); err != nil {
		return nil, "", err
	}
	if h.Claim.Attempt > 1 {
		s.awaitLast(ctx, h)
	}
	from, begins, err := s.base(ctx, h)
	if err != nil {
		return nil, "", err
	}
	base := from.commit
	branch, err := s.branch(ctx, h, base)
	if err != nil {
		return nil, "", err
	}
	if err := repo.CanSet("refs/heads/" + branch); err != nil {
		return nil, "", err
	}
	if err := s.makeWay(ctx, h.Claim.Handle); err != nil {
		return nil, "", err
	}
	tree, left, err := s.enter(ctx, base)
	if err != nil {
		return nil, "", err
	}
	s.kept = kept{
		Worker: s.kept.Worker, Made: true, Setup: s.kept.Setup, Session: s.kept.Session, Aside: s.kept.Aside, Departed: s.kept.Departed, Preparing: true,
		Task: h.Task.ID.String(), Attempt: h.Claim.Attempt, Claim: h.Claim.Handle.String(), Branch: branch, Title: h.Task.Title, Base: base, Fresh: from.what == "",
	}
	if err := s.keep(); err != nil {
		return nil, "", err
	}
	if tree, err = j.furnish(ctx, tree, left.Commit); err != nil {
		return nil, "", err
	}
	s.kept.Preparing = false
	if from.what != "" {
		j.tell(Resumed, fmt.Sprintf("commit %s, %s", git.Short(base), from.what))
	}
	return tree, strings.TrimSpace(begins + s.buildsOn(ctx, h, base) + s.putAside(h) + j.unprepared), s.keep()
}

// furnish makes the slot's worktree what the job begins from, with the files that git ignores and what
// the project's setup makes. left is the commit that the last job left there.
func (j *job) furnish(ctx context.Context, tree *git.Repo, left string) (*git.Repo, error) {
	branch, base, accept := j.kept.Branch, j.kept.Base, j.r.o.Accept
	err := tree.Checkout(ctx, branch, base, false, accept)
	if err != nil && ctx.Err() == nil {
		// The last task may have left files that this user cannot delete.
		_, moved := j.moveAway(ctx, fmt.Sprintf("it cannot be made clean: %v", err))
		j.report(Trouble, moved.Error())
		if tree, err = j.newRoom(ctx, base); err == nil {
			err = tree.Checkout(ctx, branch, base, false, accept)
		}
	}
	if err != nil {
		return nil, err
	}
	j.include(ctx, tree)
	if err := j.setUp(ctx, tree, left); err != nil {
		return tree, err
	}
	return tree, j.noteIgnored(ctx, tree)
}

// putAside says where files of the task are that could not be stored, if there are any.
func (s *slot) putAside(h *board.Handout) string {
	left := s.kept.Aside
	if !slices.ContainsFunc(h.Attempts, func(a board.Attempt) bool { return a.Handle.String() == left.Claim }) {
		return ""
	}
	if _, err := os.Lstat(left.Dir); err != nil || !strings.HasPrefix(left.Dir, s.dir+asideInfix) {
		return "" // it was deleted, or Bossman has not written that
	}
	return fmt.Sprintf(" Files that were left in it and could not be stored are in %q: take over what belongs to the task.", left.Dir)
}

// endTime bounds how long an attempt waits for the end of the last one in another slot.
const endTime = 2 * time.Minute

// awaitLast waits until what earlier attempts at a task left is stored: the last one may be in a
// slot whose agent is just ending, or in one of a run that has died meanwhile.
func (s *slot) awaitLast(ctx context.Context, h *board.Handout) {
	const pause = 100 * time.Millisecond
	begin := time.Now()
	for n := 0; time.Since(begin) < endTime && ctx.Err() == nil; n++ {
		other := s.r.recoverOthers(ctx, h.Task.ID.String())
		if other == "" {
			return
		}
		if n == int(time.Second/pause) {
			s.report(Trouble, fmt.Sprintf("the last attempt at %v has not ended yet in %s: waiting for what it leaves", h.Task.ID, other))
		}
		if n%int(look/pause) == 0 {
			_, _ = s.r.o.Board.Renew(ctx, s.seat.Actor.Owner, true) // else the next call says that the claim was lost
		}
		wait(ctx, pause)
	}
}

// maxBuildsOn is how many tasks buildsOn looks at.
const maxBuildsOn = 6

// buildsOn says of each task that a task builds on whether a commit has its work.
func (s *slot) buildsOn(ctx context.Context, h *board.Handout, base string) (text string) {
	repo := s.r.o.Repo
	for _, b := range h.Blockers[:min(len(h.Blockers), maxBuildsOn)] {
		d, err := s.r.o.Board.Get(ctx, b.ID, 0)
		if err != nil {
			continue // the hand-out has what is reported of it
		}
		accepted, ok := d.Accepted()
		at := accepted.Where
		if d.Doc.Result != nil && d.Doc.Result.Landed != "" {
			at.Head = d.Doc.Result.Landed
		}
		if !ok || !board.ValidCommit(at.Head) {
			continue
		}
		commit, err := repo.Commit(ctx, at.Head)
		has := false
		if err == nil {
			has, err = repo.Contains(ctx, base, commit)
		}
		switch {
		case err == nil && has:
			text += fmt.Sprintf(" It has the work of %v.", b.ID)
		case err == nil:
			text += fmt.Sprintf(" It does not have the work of %v, which is commit %s.", b.ID, at.Head)
		case at.Clone != repo.CloneID():
			text += fmt.Sprintf(" It does not have the work of %v, which is commit %s in another clone, on %.80q.", b.ID, at.Head, visible.Line(at.Host))
		}
	}
	return text
}

// ownRoom returns the slot's worktree. It is made if there is none, or if what an agent has left in
// its place is none any more.
func (s *slot) ownRoom(ctx context.Context, base string) (*git.Repo, error) {
	tree, err := s.room()
	if err != nil && s.kept.Made {
		_, moved := s.moveAway(ctx, err.Error())
		s.report(Trouble, moved.Error())
		tree, err = s.room()
	}
	if err != nil || tree != nil {
		return tree, err
	}
	return s.newRoom(ctx, base)
}

// enter returns the slot's worktree for a job that begins from a commit, and what the last one has left
// checked out there.
func (s *slot) enter(ctx context.Context, base string) (tree *git.Repo, left git.Head, err error) {
	if tree, err = s.ownRoom(ctx, base); err != nil {
		return nil, left, err
	}
	if left, err = tree.Head(); err != nil {
		return nil, left, err
	}
	return tree, left, s.r.o.Repo.ShareSparse(tree)
}

// newRoom makes the slot's worktree.
func (s *slot) newRoom(ctx context.Context, base string) (*git.Repo, error) {
	s.kept.Setup = "" // which has prepared another one
	return s.r.o.Repo.AddWorktree(ctx, s.dir, base, s.r.o.Accept)
}

// makeWay moves the ref of an attempt away if another board, which this clone had, has written it.
func (s *slot) makeWay(ctx context.Context, h board.Handle) error {
	repo, ref := s.r.o.Repo, refOf(h.Task.String(), h.Attempt)
	if err := repo.CanSet(ref); err != nil {
		return err
	}
	old := repo.Ref(ref)
	if old == "" {
		return nil
	}
	if own, err := ofAttempt(ctx, repo, old, board.Attempt{Handle: h}); err != nil || own {
		return err
	}
	if err := repo.SetRef(ctx, ref+beforeSuffix(), old, ""); err != nil {
		return err
	}
	return repo.SetRef(ctx, ref, "", old)
}
