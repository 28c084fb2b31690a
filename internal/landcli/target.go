package landcli

import (
	"context"
	"errors"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/land"
)

// CheckedOut returns the branch that is checked out in the main worktree of a repository, as the target
// that work lands on.
func CheckedOut(repo *git.Repo) (string, error) {
	if main, ok := git.Main(repo.Common); ok && !main.Bare {
		repo = main
	}
	head, err := repo.Head()
	if err == nil && head.Branch == "" {
		err = console.Errorf(console.Conflict, "bossman project set --land BRANCH", "it is not known where work should land: no branch is checked out in %q", repo.Root)
	}
	return board.Target{Kind: board.TargetLocal, Branch: head.Branch}.String(), err
}

// Usable returns an error if work cannot land on a target of a clone, because it is a symbolic ref. Whether there is such a
// branch does not matter.
func Usable(ctx context.Context, repo *git.Repo, target string) error {
	at, err := board.ParseTarget(target)
	if target == "" || err != nil {
		return nil // the board says what is wrong with it
	}
	err = land.Usable(ctx, repo, at)
	if e, ok := errors.AsType[*land.AliasError](err); ok {
		return console.Errorf(console.Conflict, e.Command(), "%q is a symbolic ref that leads to branch %q, and work lands on branches only", e.Branch, e.Leads)
	}
	return err
}
