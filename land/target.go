package land

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
type Source struct {
	t       target
	board   History
	project string
}

// NewSource returns the source of the work of a project for a target.
func NewSource(b History, project string, repo *git.Repo, at board.Target, accept func(command string) bool) *Source {
	return &Source{target{repo: repo, at: at, accept: accept}, b, project}
}

// Tip returns the newest commit of the target. One of a remote repository is fetched first. It is an error if this is
// the target of another repository than the one in which work has landed: what a task builds on would be missing.
func (s *Source) Tip(ctx context.Context) (string, error) {
	tip, err := s.t.tip(ctx)
	if err != nil {
		return "", err
	}
	return tip, s.t.lacks(ctx, s.board, s.project, tip, func() (note board.LandNote, err error) {
		line, err := s.board.Line(ctx, s.project)
		if err == nil && line.Lander.Note != nil {
			note = *line.Lander.Note
		}
		return note, err
	})
}

// Fetch fetches the state of an attempt from the remote repository of the target, if it has one. The commit is as for
// git.Repo.FetchRef.
func (s *Source) Fetch(ctx context.Context, ref, commit string) error {
	if s.t.at.Kind == board.TargetLocal {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, s.t.slow())
	defer cancel()
	_, err := s.t.repo.FetchRef(ctx, s.t.at.Remote, ref, commit, s.t.accept)
	return err
}

// tip returns the newest commit of the target.
func (t *target) tip(ctx context.Context) (string, error) {
	if t.at.Kind == board.TargetLocal {
		if err := Usable(ctx, t.repo, t.at); err != nil {
			return "", err
		}
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

// Usable returns an error if a target of this clone is a symbolic ref: what leads elsewhere is not moved.
func Usable(ctx context.Context, repo *git.Repo, at board.Target) error {
	if at.Kind != board.TargetLocal {
		return nil
	}
	to, err := repo.Leads(ctx, "refs/heads/"+at.Branch)
	if err != nil || to == "refs/heads/"+at.Branch {
		return err
	}
	return &AliasError{Branch: at.Branch, Leads: strings.TrimPrefix(to, "refs/heads/")}
}

// An AliasError says that a target is not a branch, but a symbolic ref.
type AliasError struct {
	Branch string
	// Leads is the branch that it leads to.
	Leads string
}

func (e *AliasError) Error() string {
	return fmt.Sprintf("%.80q is a symbolic ref that leads to branch %.80q, and work lands on branches only: take what waits out of the queue with bossman land return, and then let it land there: %s",
		visible.Line(e.Branch), visible.Line(e.Leads), e.Command())
}

// Command is the command with which work lands on the branch.
func (e *AliasError) Command() string {
	return "bossman project set --land " + visible.ShellWord(board.Target{Kind: board.TargetLocal, Branch: e.Leads}.String())
}

// A refusedError says that the target could not be moved, and was not.
type refusedError struct{ err error }

func (e *refusedError) Error() string {
	return "the target could not be moved: " + e.err.Error()
}

func (e *refusedError) Unwrap() error { return e.err }

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

// has reports whether a commit is in the target. One that is not there has none, and what a symbolic ref leads to
// counts.
func (t *target) has(ctx context.Context, commit string) (bool, error) {
	tip, err := t.tip(ctx)
	_, gone := errors.AsType[goneError](err)
	_, alias := errors.AsType[*AliasError](err)
	switch {
	case alias:
		tip = t.repo.Branch(t.at.Branch)
	case err != nil && !gone:
		return false, err
	}
	if tip == "" {
		return false, nil
	}
	return t.contains(ctx, tip, commit)
}

// commits returns the commits with the work of the tasks of an intent, of those that name their task.
func (t *target) commits(ctx context.Context, i board.Intent) map[board.ID]string {
	if len(i.Items) < 2 || i.Old == "" {
		return nil
	}
	list, err := t.repo.Log(ctx, i.Old, i.New, taskTrailer)
	if err != nil {
		return nil
	}
	commits := map[board.ID]string{}
	for _, c := range slices.Backward(list) { // of several, the newest
		if len(c.Values) == 1 {
			if id, err := board.ParseID(c.Values[0]); err == nil {
				commits[id] = c.Commit
			}
		}
	}
	return commits
}

// landed reports whether a commit got into the target with an intent.
func (t *target) landed(ctx context.Context, i board.Intent, commit string) (bool, error) {
	if commit == i.New {
		return true, nil
	}
	if in, err := t.contains(ctx, i.New, commit); err != nil || !in {
		return false, err
	}
	before := i.Old
	if t.at.Kind == board.TargetPR { // the intent has the merge alone
		var err error
		if before, err = t.repo.Commit(ctx, i.New+"^1"); err != nil {
			return false, err
		}
	}
	in, err := t.contains(ctx, before, commit)
	return !in, err
}

// contains reports whether a commit of the target has another one.
func (t *target) contains(ctx context.Context, tip, commit string) (bool, error) {
	if !git.IsObject(commit) {
		return false, nil
	}
	in, err := t.repo.Contains(ctx, tip, commit)
	if err != nil {
		if _, missing := t.repo.Commit(ctx, commit); missing != nil { // so the target does not have it
			return false, nil
		}
	}
	return in, err
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

// fetch makes sure that the work of a task is in this clone. why says where it is if it is not. host is the name of this
// machine if it is known that work for a target of a clone lands in this one, else empty.
func (t *target) fetch(ctx context.Context, q board.Queued, host string) (why string, err error) {
	if _, err := t.repo.Commit(ctx, q.Tip.Commit); err == nil {
		return "", nil
	}
	ref := git.StateRefs(q.Task.ID.String()) + strconv.Itoa(q.Task.Attempt)
	switch {
	case t.at.Kind != board.TargetLocal:
	case host != "" && host == q.Where.Host && filepath.IsAbs(q.Where.Dir) && visible.Line(q.Where.Dir) == q.Where.Dir:
		return fmt.Sprintf("its commit %s is not in this clone: git fetch %s %s", git.Short(q.Tip.Commit), visible.ShellWord(q.Where.Dir), ref), nil
	case host != "":
		return fmt.Sprintf("its commit %s is not in this clone: bring %s here from %.80q, where it is in %.200q, with git push or git fetch", git.Short(q.Tip.Commit), ref, visible.Line(q.Where.Host), visible.Line(q.Where.Dir)), nil
	default:
		return fmt.Sprintf("its commit %s is not in this clone: run bossman land on %.80q, in %.200q", git.Short(q.Tip.Commit), visible.Line(q.Where.Host), visible.Line(q.Where.Dir)), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, t.slow())
	defer cancel()
	if _, err := t.repo.FetchRef(ctx, t.at.Remote, ref, q.Tip.Commit, t.accept); err != nil {
		return "", err
	}
	if _, err := t.repo.Commit(ctx, q.Tip.Commit); err == nil {
		return "", nil
	}
	return fmt.Sprintf("its commit %s is neither in this clone nor at %.80q as %s: push it from %.80q, in %.200q", git.Short(q.Tip.Commit), t.at.Remote, git.SharedRef(ref, q.Tip.Commit), visible.Line(q.Where.Host), visible.Line(q.Where.Dir)), nil
}

// tidy deletes the branch that was made for a task and has nothing that has not landed, unless a worktree
// has it.
func (t *target) tidy(ctx context.Context, i board.Item) {
	branch := "bossman/" + i.Task.String()
	if t.repo.Branch(branch) == i.Tip && t.repo.Worktree(branch, "") == nil {
		_ = t.repo.SetRef(ctx, "refs/heads/"+branch, "", i.Tip) // it stays, and is in nobody's way
	}
}
