package check

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// target returns the newest commit that a clone knows of the branch on which work lands; empty if there is
// none, or it lands nowhere.
func target(repo *git.Repo, land string) (string, error) {
	if land == "" {
		return "", nil
	}
	t, err := board.ParseTarget(land)
	switch {
	case err != nil:
		return "", err
	case t.Kind == board.TargetLocal:
		return repo.Branch(t.Branch), nil
	}
	return repo.Ref("refs/remotes/" + t.Remote + "/" + t.Branch), nil
}

// isTarget reports whether a branch of this clone is the one on which work lands.
func isTarget(land, branch string) bool {
	t, err := board.ParseTarget(land)
	return land != "" && err == nil && t.Kind == board.TargetLocal && t.Branch == branch
}

// landed reports whether a commit has nothing that the target of some work does not have. What got there is no work that
// is still to be landed.
func landed(ctx context.Context, repo *git.Repo, w board.Work, commit string) (bool, error) {
	now, err := target(repo, w.Land)
	if err != nil || now == "" || commit == "" {
		return false, err
	}
	base, err := repo.MergeBase(ctx, now, commit)
	if errors.Is(err, git.ErrUnrelated) {
		return false, nil
	}
	if err != nil || base == commit {
		return err == nil, cutOff(repo, err)
	}
	return adopted(ctx, repo, now, base, commit)
}

// adopted reports whether a target has everything of a commit already that went apart from it at a base: the commit changes nothing since then,
// or the target has every file as the commit has it that was changed on the way to that. It may be a copy of what others have landed. Files that were
// changed on the way and are now as they were count, too: what the work has dropped stays away where it lands on top of work that it was built on.
func adopted(ctx context.Context, repo *git.Repo, now, base, commit string) (bool, error) {
	before, err := repo.Tree(ctx, base)
	if err != nil {
		return false, err
	}
	tree, err := repo.Tree(ctx, commit)
	if err != nil || tree == before {
		return err == nil, err
	}
	differ, err := repo.ChangedTo(ctx, now, commit)
	if err != nil { // this clone does not have all directories: who lands it has to
		return false, ctx.Err()
	}
	files, err := repo.ChangedTo(ctx, base, commit)
	if err != nil {
		return false, ctx.Err()
	}
	touched, err := repo.Touched(ctx, now, commit)
	if err != nil {
		return false, ctx.Err()
	}
	for path := range differ {
		if _, ok := files[path]; ok || touched[path] {
			return false, nil
		}
	}
	return true, nil
}

// cutOff makes a *board.PlaceError of the error of a clone that does not have the history which tells what the work is.
func cutOff(repo *git.Repo, err error) error {
	e, ok := errors.AsType[*git.HistoryError](err)
	if !ok {
		return err
	}
	why, next, _ := strings.Cut(e.Why, ": ")
	return &board.PlaceError{Why: fmt.Sprintf("The work in %.200q cannot be looked at: %s.", repo.Root, why), Next: next + ", and report again"}
}

// bypassed reports whether a commit was made in a worktree since a task was first handed out, and is in the target:
// it got there without being landed.
func (i *Inspector) bypassed(ctx context.Context, repo *git.Repo, w board.Work, commit string) (bool, error) {
	now, err := target(repo, w.Land)
	if err != nil || now == "" || commit == "" || !repo.Committed(commit) {
		return false, err
	}
	if existed, known, err := i.existed(ctx, repo, w, commit); err != nil || existed || !known {
		return false, err
	}
	return repo.Contains(ctx, now, commit)
}

// OffTarget returns a *board.PlaceError if the work of a report ends with a commit that was made at its place and is
// in the target: nobody has judged it there. The place of the work is one that Place returned.
func (i *Inspector) OffTarget(ctx context.Context, w board.Work) error {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil {
		return err
	}
	head, _, err := tip(repo, w.Place)
	if err != nil {
		return err
	}
	if past, err := i.bypassed(ctx, repo, w, head); err != nil || !past {
		return err
	}
	back := "put that back to where it was"
	if begun, on := i.begun(repo, w.First); isTarget(w.Land, on) && begun != unborn {
		back = fmt.Sprintf("put that back to where it was, which was commit %.12s when the task was first handed out", begun)
	}
	return &board.PlaceError{
		Why: fmt.Sprintf("Commit %.12s was made in %.200q and is in %.80q already, where work gets only by landing, after it was judged.", head, repo.Root, w.Land),
		Next: fmt.Sprintf("go on with a branch of your own, made there with git switch -c %v; if the commit is yours, ask a person to %s, or to mark the task done; if it is not, commit your work on your branch; then report again",
			w.Task, back),
	}
}
