package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// Store stores the work of a report as a commit, under a ref that keeps it, and returns that: what
// the check has judged as tree, or else everything that is at the place of the work. What is committed
// stays the commit that it is. It is empty if the work is not in git.
func (i *Inspector) Store(ctx context.Context, w board.Work, tree, title, summary string) (string, error) {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil {
		return "", err
	}
	commit, checkedOut, err := tip(repo, w.Place)
	if err != nil {
		return "", err
	}
	ref := git.StateRefs(w.Task.String()) + strconv.Itoa(w.Claim.Attempt)
	if checkedOut && (tree != "" || w.Place.Uncommitted > 0) {
		var accept func(string) bool
		if c, _, err := i.InForce(i.Home()); err == nil && c != nil {
			accept = c.Filters
		}
		var snap git.Snapshot
		if tree != "" {
			snap = git.Snapshot{Tree: tree, Base: commit}
		}
		message := fmt.Sprintf("%s\n\n%s\n\nBossman-Task: %v\nBossman-Attempt: %d\nBossman-Claim: %v\nBossman-Worker: %s\n",
			title, summary, w.Task, w.Claim.Attempt, w.Claim, w.Worker)
		stored, err := repo.Store(ctx, accept, snap, ref, message)
		if err != nil {
			return "", err
		}
		commit = stored.Commit
	}
	if commit == "" {
		return "", nil
	}
	return commit, errors.Join(repo.SetRef(ctx, ref, commit, ""), repo.Sync())
}

// Tip says what the work of a commit is for a target: what it began from, and whether the target has
// nothing to gain by it. A target that is not in this clone has nothing.
func (i *Inspector) Tip(ctx context.Context, commit, land string) (t board.Tip, same bool, err error) {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return t, false, err
	}
	t.Commit = commit
	if t.Tree, err = repo.Tree(ctx, commit); err != nil {
		return board.Tip{}, false, err
	}
	target, err := board.ParseTarget(land)
	if err != nil {
		return t, false, err
	}
	now := ""
	switch target.Kind {
	case board.TargetRemote:
		now = repo.Ref("refs/remotes/" + target.Remote + "/" + target.Branch)
	case board.TargetPR:
		now = cmp.Or(repo.Ref("refs/remotes/origin/"+target.Branch), repo.Branch(target.Branch))
	default:
		now = repo.Branch(target.Branch)
	}
	if now == "" {
		return t, false, nil
	}
	if t.Base, err = repo.MergeBase(ctx, now, commit); errors.Is(err, git.ErrUnrelated) {
		return t, false, nil
	}
	for _, other := range []string{t.Base, now} {
		var tree string
		if err == nil {
			tree, err = repo.Tree(ctx, other)
		}
		same = same || err == nil && tree == t.Tree
	}
	return t, same, err
}
