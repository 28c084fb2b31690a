package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// maxLooseTrees is in how many worktrees it is noted what lies about.
const maxLooseTrees = 8

// noteLoose notes which files are not committed in some worktrees when a task is handed out. The
// worktree where that is comes first; in the others a worker may work, too.
func (i *Inspector) noteLoose(ctx context.Context, repo *git.Repo, trees []*git.Repo, name string) error {
	lines := make([]string, min(len(trees), maxLooseTrees))
	errs := make([]error, len(lines))
	var wg sync.WaitGroup
	for n := range lines {
		wg.Go(func() {
			var sum string
			if sum, errs[n] = i.loose(ctx, trees[n]); errs[n] == nil { // else it is not known of this one
				lines[n] = pathName(trees[n].Root) + " " + sum
			}
		})
	}
	wg.Wait()
	if len(lines) == 0 || errs[0] != nil {
		return errors.Join(errs...)
	}
	return i.notes(repo).write("loose", name, strings.Join(lines, "\n"))
}

// loose is a fingerprint of the files of a worktree that are not committed.
func (i *Inspector) loose(ctx context.Context, tree *git.Repo) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	return tree.Loose(ctx)
}

// looseBefore is the fingerprint of a worktree when a task was handed out with a claim, empty if it is
// not known.
func (i *Inspector) looseBefore(tree *git.Repo, claim board.Handle) string {
	words, _ := i.notes(tree).read("loose", noteName(claim))
	for pair := range slices.Chunk(words, 2) {
		if len(pair) == 2 && pair[0] == pathName(tree.Root) {
			return pair[1]
		}
	}
	return ""
}

// noteLeft notes the uncommitted files in a worktree when the work of a task there was accepted.
func (i *Inspector) noteLeft(ctx context.Context, tree *git.Repo, task board.ID) {
	if sum, err := i.loose(ctx, tree); err == nil { // without a note they may be taken for the work of another task
		_ = i.notes(tree).write("left", leftName(tree, sum), task.String())
	}
}

// leftName is the name of the note of the files with a fingerprint in a worktree.
func leftName(tree *git.Repo, sum string) string { return pathName(tree.Root) + "." + sum }

// leftHere says that the worktree in which a task was first handed out has files since then that
// are not committed, if another worktree was judged; empty if it has none, or if the worker was
// told to work elsewhere, or another one works there.
func (i *Inspector) leftHere(ctx context.Context, judged *git.Repo, w board.Work) (string, error) {
	words, _ := i.notes(judged).read("loose", noteName(w.First))
	if len(words) == 0 || w.Ordered != "" || i.inBare() {
		return "", nil
	}
	for _, tree := range judged.Worktrees() {
		if tree.Root == judged.Root || pathName(tree.Root) != words[0] {
			continue
		}
		at := i.where(ctx, tree)
		if at.Uncommitted == 0 || slices.ContainsFunc(w.Others, func(o board.Claim) bool { return beside(o, w, at) }) {
			return "", nil
		}
		now, err := i.loose(ctx, tree)
		if err != nil || now == i.looseBefore(tree, w.First) {
			return "", err
		}
		return fmt.Sprintf("; uncommitted files in %.120q, where the task was handed out, are not in it", tree.Root), nil
	}
	return "", nil
}
