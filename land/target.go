package land

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A target is the branch on which work lands.
type target struct {
	repo   *git.Repo
	at     board.Target
	accept func(filter string) bool
	leave  bool // a checkout of it alone
}

// tip returns the newest commit of the target.
func (t *target) tip(context.Context) (string, error) {
	tip := t.repo.Branch(t.at.Branch)
	if tip == "" {
		return "", fmt.Errorf("there is no branch %.80q here: make it, or land elsewhere: bossman project set --land BRANCH", visible.Line(t.at.Branch))
	}
	return tip, nil
}

// has reports whether a commit is in the target.
func (t *target) has(ctx context.Context, commit string) (bool, error) {
	tip, err := t.tip(ctx)
	if err != nil {
		return false, err
	}
	if _, err := t.repo.Commit(ctx, commit); err != nil { // so the target does not have it
		return false, nil
	}
	return t.repo.Contains(ctx, tip, commit)
}

// move moves the target from a commit to another one that has it, or is the same.
func (t *target) move(ctx context.Context, from, to, why string) error {
	if from == to {
		return nil
	}
	_, err := t.repo.Advance(ctx, git.Advance{Branch: t.at.Branch, Old: from, New: to, Why: "bossman: " + why, Leave: t.leave}, t.accept)
	return err
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
	return fmt.Sprintf("its commit %s is not in this clone: run bossman land on %.80q, in %.200q", git.Short(q.Tip.Commit), visible.Line(q.Where.Host), visible.Line(q.Where.Dir)), nil
}

// tidy deletes the branch that was made for a task and has nothing that has not landed, unless a worktree
// has it.
func (t *target) tidy(ctx context.Context, i board.Item) {
	branch := "bossman/" + i.Task.String()
	if t.repo.Branch(branch) == i.Tip && t.repo.Worktree(branch, "") == nil {
		_ = t.repo.SetRef(ctx, "refs/heads/"+branch, "", i.Tip) // it stays, and is in nobody's way
	}
}
