package landcli

import (
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
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
