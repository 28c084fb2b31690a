package check

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// MergeText is a sentence with the command that merges the work with which a task is done. It is
// empty if that is not in the clone of a directory, or is in what is checked out there already. A
// worker with another key at a server is not believed: it could name any commit.
func MergeText(ctx context.Context, dir string, d board.Dossier) string {
	at, ok := d.Accepted()
	repo, err := git.Find(dir)
	if err != nil || !ok || at.Owner == board.AnotherOwner || at.Where.Clone != repo.CloneID() || at.Where.Uncommitted > 0 {
		return ""
	}
	commit, err := repo.Commit(ctx, at.Where.Head)
	if err != nil {
		return ""
	}
	if in, err := repo.Contained(ctx, commit); err != nil || in {
		return ""
	}
	return " To merge it: git merge " + visible.ShellWord(repo.NameOf(commit, at.Where.Branch))
}
