package check

import (
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// resolved returns a *board.PlaceError if the work has conflict markers in files that are not
// merged, or that were not when the state of an earlier attempt was stored.
func (i *Inspector) resolved(ctx context.Context, repo *git.Repo, w board.Work) error {
	if repo == nil {
		return nil
	}
	_, checkedOut, err := tip(repo, w.Place)
	if err != nil {
		return err
	}
	paths, err := i.unresolved(ctx, repo, w)
	if err != nil {
		return err
	}
	if checkedOut {
		now, err := i.conflicted(ctx, repo, w)
		if err != nil {
			return err
		}
		paths = append(paths, now...)
		slices.Sort(paths)
		paths = slices.Compact(paths)
	}
	if len(paths) == 0 {
		return nil
	}
	return &board.PlaceError{
		Why:  fmt.Sprintf("Files still have conflict markers of a merge, a rebase or a stash: %s.", visible.Paths(paths)),
		Next: "resolve these conflicts, and report again",
	}
}

// conflicted lists the files of a worktree that are not merged and have conflict markers, unless
// nothing has changed there since the task was first handed out.
func (i *Inspector) conflicted(ctx context.Context, repo *git.Repo, w board.Work) ([]string, error) {
	paths, err := repo.Conflicted(ctx)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	if before, known := i.looseBefore(repo, w.First); known {
		if now, err := i.loose(ctx, repo); err == nil && !before.changed(now) {
			return nil, nil
		}
	}
	return paths, nil
}

// unresolved lists the files of some work that were not merged when the state of an earlier attempt
// was stored, and still have the conflict markers of then.
func (i *Inspector) unresolved(ctx context.Context, repo *git.Repo, w board.Work) ([]string, error) {
	commit, checkedOut, err := tip(repo, w.Place)
	if err != nil {
		return nil, err
	}
	if checkedOut {
		commit = ""
	}
	return repo.Unresolved(ctx, w.Task.String(), i.since(repo, w).Add(-clockSkew), commit)
}

// Unresolved lists the files of a task in the inspector's own worktree that still have the conflict
// markers which an earlier attempt left.
func (i *Inspector) Unresolved(ctx context.Context, w board.Work) []string {
	repo, err := i.repo()
	if err != nil || repo == nil || repo.Bare {
		return nil
	}
	w.Place = board.Where{}
	paths, err := i.unresolved(ctx, repo, w)
	if err != nil {
		return nil // the report says it
	}
	return paths
}
