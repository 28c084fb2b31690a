package check

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// emptyBlobs are the objects of a file without content, which many files have.
var emptyBlobs = map[string]bool{
	"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391":                         true,
	"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813": true,
}

// carry adds to the mixed files of some work those that are in its tree, which may be a commit, and were noted at the hand-out as
// not the agent's: whatever was not committed, ignored, or changed where git does not look, and is in the difference between the commit that
// was checked out then and the tree. Files with the content of such a one are among them: it may have been moved. What is among the mixed files is not left out.
func (i *Inspector) carry(ctx context.Context, repo *git.Repo, w board.Work, tree string, l *lying) error {
	if tree == "" {
		return nil
	}
	claims := []board.Handle{w.Claim}
	if w.First != w.Claim { // an earlier attempt may have committed them
		claims = append(claims, w.First)
	}
	found := map[string]bool{}
	for _, claim := range claims {
		if err := i.carriedSince(ctx, repo, w, claim, tree, found); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		if err := brought(ctx, repo, w, tree, found); err != nil {
			return err
		}
	}
	n := len(l.leftOut)
	l.leftOut = slices.DeleteFunc(l.leftOut, func(path string) bool { return found[path] })
	l.rest = n - len(l.leftOut)
	l.mixed = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(l.mixed, maps.Keys(found)))))
	return nil
}

// carriedSince finds what carry adds, by the notes of the hand-out with a claim.
func (i *Inspector) carriedSince(ctx context.Context, repo *git.Repo, w board.Work, claim board.Handle, tree string, found map[string]bool) error {
	begun, _ := i.begun(repo, claim)
	before, own, err := i.notOwn(ctx, repo, w, claim)
	if err != nil || begun == "" {
		return err
	}
	contents := before.contents(own)
	if words, _ := i.notes(repo).read("begun", noteName(claim)); !w.Slot && len(words) > 0 && words[0] != pathName(repo.Root) {
		for _, other := range repo.Worktrees() { // it may have been brought from where the task was taken
			if pathName(other.Root) != words[0] {
				continue
			}
			there, theirs, err := i.notOwn(ctx, other, w, claim)
			if err != nil {
				return err
			}
			maps.Copy(contents, there.contents(theirs))
		}
	}
	if before.isZero() && len(contents) == 0 {
		return nil
	}
	if begun == unborn {
		begun = ""
	} else if _, err := repo.Commit(ctx, begun); errors.Is(err, git.ErrNoCommit) {
		return nil
	}
	changed, err := repo.ChangedTo(ctx, begun, tree)
	if err != nil {
		return err
	}
	for path, object := range changed {
		noted := before.had(path) || before.wasIgnored(path) || before.wasHidden(path)
		if noted && !own[path] || !noted && contents[object] {
			found[path] = true
		}
	}
	return nil
}

// notOwn returns what lay about in a worktree at the hand-out of a task with a claim, and which of these files are the task's own. In a
// worktree that was made for the claim that is what was brought there and git ignores.
func (i *Inspector) notOwn(ctx context.Context, repo *git.Repo, w board.Work, claim board.Handle) (before lain, own map[string]bool, err error) {
	before, known := i.looseBefore(repo, claim)
	if w.Slot {
		return lain{ignored: before.ignored}, nil, nil
	}
	if !known || before.isZero() {
		return lain{}, nil, nil
	}
	if claim == w.Claim {
		if own, _, err = i.earlier(ctx, repo, w, before); err != nil {
			return before, nil, err
		}
	}
	for path := range i.written(repo, w) { // whoever has committed it has added it
		delete(before.files, path)
	}
	return before, own, nil
}

// contents returns the objects of the files that lay about, but for those of some.
func (l lain) contents(not map[string]bool) map[string]bool {
	objects := map[string]bool{}
	for path, f := range l.files {
		if f.Blob != "" && !emptyBlobs[f.Blob] && !not[path] {
			objects[f.Blob] = true
		}
	}
	return objects
}

// brought removes files that a tree has as the target of the work has them: they may have come from there.
func brought(ctx context.Context, repo *git.Repo, w board.Work, tree string, found map[string]bool) error {
	now, err := target(repo, w.Land)
	if err != nil || now == "" {
		return err
	}
	changed, err := repo.ChangedTo(ctx, now, tree)
	if err != nil {
		return err
	}
	maps.DeleteFunc(found, func(path string, _ bool) bool {
		_, differs := changed[path]
		return !differs
	})
	return nil
}
