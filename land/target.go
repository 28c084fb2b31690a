package land

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A target is the branch on which work lands.
type target struct {
	repo   *git.Repo
	at     board.Target
	accept func(command string) bool
	leave  bool // a checkout of it alone
}

// A Source is where work begins in a project that lands its work. For a target of a remote repository all of
// git.Repo.RemoteCommands have to be accepted.
type Source struct{ t target }

// NewSource returns the source of the work for a target.
func NewSource(repo *git.Repo, at board.Target, accept func(command string) bool) *Source {
	return &Source{target{repo: repo, at: at, accept: accept}}
}

// Tip returns the newest commit of the target. One of a remote repository is fetched first.
func (s *Source) Tip(ctx context.Context) (string, error) { return s.t.tip(ctx) }

// Fetch fetches a ref below refs/bossman from the remote repository of the target, if it has one.
func (s *Source) Fetch(ctx context.Context, ref string) error {
	if s.t.at.Kind == board.TargetLocal {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, s.t.slow())
	defer cancel()
	_, err := s.t.repo.FetchRef(ctx, s.t.at.Remote, ref, s.t.accept)
	return err
}

// tip returns the newest commit of the target.
func (t *target) tip(ctx context.Context) (string, error) {
	if t.at.Kind == board.TargetLocal {
		tip := t.repo.Branch(t.at.Branch)
		if tip == "" {
			return "", goneError(fmt.Sprintf("work lands on branch %.80q, which is not in this clone: make it again", visible.Line(t.at.Branch)))
		}
		return tip, nil
	}
	tip, err := t.branch(ctx, t.at.Branch)
	if err == nil && tip == "" {
		err = goneError(fmt.Sprintf("work lands on branch %.80q of %.80q, which has none of that name: push it", visible.Line(t.at.Branch), t.at.Remote))
	}
	return tip, err
}

// A goneError says that there is no target.
type goneError string

func (e goneError) Error() string {
	return string(e) + "; or take what waits out of the queue with bossman land return, and then land elsewhere: bossman project set --land BRANCH"
}

// branch fetches a branch of the remote repository, and returns its newest commit; empty if there is none.
func (t *target) branch(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, t.slow())
	defer cancel()
	return t.repo.FetchBranch(ctx, t.at.Remote, name, t.accept)
}

// remoteTime bounds a call of a remote repository. A push has to be over long before another lander can
// have the lease.
const remoteTime = board.LeaseTime / 2

// slow is the error of a remote repository that takes too long. Nobody knows what it has done.
func (t *target) slow() error {
	return &git.RemoteError{Remote: t.at.Remote, Kind: git.RemoteUnreachable, Words: fmt.Sprintf("it has not answered for %v", remoteTime)}
}

// has reports whether a commit is in the target.
func (t *target) has(ctx context.Context, commit string) (bool, error) {
	tip, err := t.tip(ctx)
	if err != nil {
		return false, err
	}
	return t.contains(ctx, tip, commit)
}

// contains reports whether a commit of the target has another one.
func (t *target) contains(ctx context.Context, tip, commit string) (bool, error) {
	if _, err := t.repo.Commit(ctx, commit); err != nil { // so the target does not have it
		return false, nil
	}
	return t.repo.Contains(ctx, tip, commit)
}

// move moves the target from a commit to another one that has it, or is the same.
func (t *target) move(ctx context.Context, from, to, why string) error {
	switch {
	case from == to:
		return nil
	case t.at.Kind != board.TargetLocal:
		return t.push(ctx, from, to)
	}
	_, err := t.repo.Advance(ctx, git.Advance{Branch: t.at.Branch, Old: from, New: to, Why: "bossman: " + why, Leave: t.leave}, t.accept)
	return err
}

// pushTries is how often a push is tried while the branch is where it was: another one may have had it locked.
const pushTries = 3

// push moves the target in its remote repository. If somebody else has moved it meanwhile, the error is a
// *git.RemoteError of kind RemoteMoved. It is one of kind RemoteElsewhere if the push has gone elsewhere.
func (t *target) push(ctx context.Context, from, to string) error {
	var err error
	for range pushTries {
		err = t.pushOnce(ctx, to, t.at.Branch)
		e, ok := errors.AsType[*git.RemoteError](err)
		moved := ok && e.Kind == git.RemoteMoved
		if err == nil || moved {
			if apart := t.apart(ctx); apart != nil {
				return apart
			}
		}
		if !moved {
			return err
		}
		if tip, failed := t.tip(ctx); failed != nil || tip != from {
			return err
		}
	}
	return &git.RemoteError{Remote: t.at.Remote, Kind: git.RemoteRefused, Words: err.Error()}
}

// pushOnce makes a branch of the remote repository name a commit.
func (t *target) pushOnce(ctx context.Context, commit, branch string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, t.slow())
	defer cancel()
	return t.repo.Push(ctx, t.at.Remote, commit, "refs/heads/"+branch, t.accept)
}

// apart returns a *git.RemoteError if the target is pushed to another repository than it is fetched from, and the one that is
// fetched from does not have all that was pushed.
func (t *target) apart(ctx context.Context) error {
	if t.at.Kind != board.TargetRemote { // with pull requests people merge, and a push is often to a fork
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, t.slow())
	defer cancel()
	return t.repo.Apart(ctx, t.at.Remote, t.at.Branch, t.accept)
}

// recover completes what a process that died has begun in a checkout of the target.
func (t *target) recover(ctx context.Context) error {
	_, err := t.repo.Recover(ctx, t.accept)
	return err
}

// fetch makes sure that the work of a task is in this clone. why says where it is if it is not.
func (t *target) fetch(ctx context.Context, q board.Queued) (why string, err error) {
	if _, err := t.repo.Commit(ctx, q.Tip.Commit); err == nil {
		return "", nil
	}
	if t.at.Kind == board.TargetLocal {
		return fmt.Sprintf("its commit %s is not in this clone: run bossman land on %.80q, in %.200q", git.Short(q.Tip.Commit), visible.Line(q.Where.Host), visible.Line(q.Where.Dir)), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, t.slow())
	defer cancel()
	ref := git.StateRefs(q.Task.ID.String()) + strconv.Itoa(q.Task.Attempt)
	if _, err := t.repo.FetchRef(ctx, t.at.Remote, ref, t.accept); err != nil {
		return "", err
	}
	if _, err := t.repo.Commit(ctx, q.Tip.Commit); err == nil {
		return "", nil
	}
	return fmt.Sprintf("its commit %s is neither in this clone nor at %.80q as %s: push it from %.80q, in %.200q", git.Short(q.Tip.Commit), t.at.Remote, ref, visible.Line(q.Where.Host), visible.Line(q.Where.Dir)), nil
}

// tidy deletes the branch that was made for a task and has nothing that has not landed, unless a worktree
// has it.
func (t *target) tidy(ctx context.Context, i board.Item) {
	branch := "bossman/" + i.Task.String()
	if t.repo.Branch(branch) == i.Tip && t.repo.Worktree(branch, "") == nil {
		_ = t.repo.SetRef(ctx, "refs/heads/"+branch, "", i.Tip) // it stays, and is in nobody's way
	}
}
