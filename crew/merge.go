package crew

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// MergeText is a sentence with the command that merges the work with which a task is done. It is
// empty if that was landed, or no change was reported, or it is not in the clone of a directory, or is in what is checked out there already. A
// worker with another key than the principal's is not believed: it could name any commit.
func MergeText(ctx context.Context, dir, principal string, d board.Dossier) string {
	at, ok := d.Accepted()
	repo, err := git.Find(dir)
	if err != nil || !ok || !at.Own(principal) || d.Doc.Result != nil && (d.Doc.Result.Landed != "" || d.Doc.Result.NoChanges) {
		return ""
	}
	command := mergeCommand(ctx, repo, at)
	if command == "" {
		return ""
	}
	if head, err := repo.Head(); err == nil && strings.HasPrefix(head.Branch, branchPrefix) {
		return fmt.Sprintf(" Branch %s is checked out here. To merge the work, switch to the branch that it is for, and then: %s", visible.ShellWord(head.Branch), command)
	}
	return " To merge it: " + command
}

// mergeCommand is the command that merges what was accepted in an attempt, empty if there is nothing to
// merge.
func mergeCommand(ctx context.Context, repo *git.Repo, a board.Attempt) string {
	commit, err := accepted(ctx, repo, a)
	if err != nil || commit == "" {
		return ""
	}
	if nothing, err := nothing(ctx, repo, commit); err == nil && nothing {
		return ""
	}
	command := "git merge "
	if head, err := repo.Head(); err == nil && head.Commit != "" {
		if related, err := repo.Related(ctx, head.Commit, commit); err == nil && !related {
			command += "--allow-unrelated-histories "
		}
	}
	return command + visible.ShellWord(repo.NameOf(commit, a.Where.Branch))
}

// accepted returns the commit that was accepted as done in an attempt, empty if none was. The board
// names it; what refs of the repository have may be of reports that were not accepted, or of
// another board.
func accepted(ctx context.Context, repo *git.Repo, a board.Attempt) (string, error) {
	if a.Cause == board.CauseDone && a.Where == (board.Where{}) { // it was erased
		stored := repo.Ref(refOf(a.Task.String(), a.Attempt))
		if own, err := ofAttempt(ctx, repo, stored, a); err != nil || !own {
			return "", err
		}
		return stored, nil
	}
	if a.Cause != board.CauseDone || a.Where.Clone != repo.CloneID() || a.Where.Head == "" || a.Where.Uncommitted > 0 {
		return "", nil
	}
	commit, err := repo.Commit(ctx, a.Where.Head)
	if err != nil {
		err = fmt.Errorf("%w: %w", errGone, err)
	}
	return commit, err
}

// errGone means that the state of a task that is done was deleted.
var errGone = errors.New("what was accepted as done is not in this repository any more")

// ofAttempt reports whether a commit is a state of an attempt: its message names the claim, or the
// board names the commit.
func ofAttempt(ctx context.Context, repo *git.Repo, commit string, a board.Attempt) (bool, error) {
	if commit == "" || a.Attempt == 0 {
		return false, nil
	}
	if a.Where.Clone == repo.CloneID() && a.Where.Head == git.Short(commit) {
		return true, nil
	}
	claim, err := repo.Trailer(ctx, commit, git.ClaimTrailer)
	return claim == a.Handle.String(), err
}

// noChange is said of work that changes no file.
const noChange = "no file differs from what is checked out in the repository"

// nothing reports whether a commit has nothing to merge into what is checked out in the
// repository. If that is the branch of a task, at which a person looks, it is merged elsewhere.
func nothing(ctx context.Context, repo *git.Repo, commit string) (bool, error) {
	head, err := repo.Head()
	if err != nil || head.Commit == "" || strings.HasPrefix(head.Branch, branchPrefix) {
		return false, err
	}
	if in, err := repo.Contains(ctx, head.Commit, commit); err != nil || in {
		return in, err
	}
	return same(ctx, repo, head.Commit, commit)
}

// same reports whether two commits have the same files.
func same(ctx context.Context, repo *git.Repo, a, b string) (bool, error) {
	one, err := repo.Tree(ctx, a)
	two, err2 := repo.Tree(ctx, b)
	return one == two, errors.Join(err, err2)
}
