package check

import (
	"context"
	"errors"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// A Getter reads a task from the board, as board.Board.Get does.
type Getter func(ctx context.Context, id board.ID, events int) (board.Dossier, error)

// Recorded reports whether a commit of this clone is what an attempt has reported, by what the board recorded: it names the commit, or
// the commit names the claim.
func Recorded(ctx context.Context, repo *git.Repo, d *board.Dossier, attempt int, commit string) (bool, error) {
	for _, a := range d.Attempts {
		if a.Attempt != attempt {
			continue
		}
		if a.Where.Head == git.Short(commit) || attempt == d.Task.Attempt && d.Doc.Result != nil && d.Doc.Result.Tip.Commit == commit {
			return true, nil
		}
		claim, err := repo.Trailer(ctx, commit, git.ClaimTrailer)
		return err == nil && a.Nonce != "" && claim == a.Handle.String(), err
	}
	return false, nil
}

// states are what was reported, as git.Repo.States returns it: what a clone has, and what a remote repository has, to which
// other boards report tasks with the same ids.
type states struct {
	repo        *git.Repo
	here, there map[string]string
	get         Getter
}

// own reports whether a state is one of this board. What the clone has is.
func (s *states) own(ctx context.Context, name string, task board.ID, attempt int, commit string) (bool, error) {
	if s.here[name] == commit {
		return true, nil
	}
	d, err := s.get(ctx, task, 0)
	if errors.Is(err, board.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return Recorded(ctx, s.repo, &d, attempt, commit)
}
