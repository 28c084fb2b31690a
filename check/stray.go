package check

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

const (
	// maxNames is how many branches and worktrees are noted. If there are more, it is not known
	// which of them are new.
	maxNames = 20_000
	// maxStray is how many places Strays returns, and maxStrayLooks at how many it looks.
	maxStray      = 3
	maxStrayLooks = 20
	// strayGrace is how long after the end of an attempt its worker may still make a branch.
	strayGrace = 10 * time.Minute
)

// names are the branches of a repository, and its worktrees, each as one word.
func names(repo *git.Repo) []string {
	words := slices.Sorted(maps.Keys(repo.Branches()))
	for _, tree := range repo.Worktrees() {
		words = append(words, treeName(tree))
	}
	return words
}

// treeName is the word for a worktree in a note; no branch has such a name.
func treeName(tree *git.Repo) string { return ":" + pathName(tree.Root) }

// Strays returns where a worker that did not name its branch may have worked: branches and
// worktrees without a branch that were made since the task was first handed out here, that have
// something new, and that are not taken. until is when the last attempt ended.
func (i *Inspector) Strays(ctx context.Context, w board.Work, until time.Time, taken func(board.Where) bool) (strays []board.Where) {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return nil
	}
	words, ok := i.notes(repo).read("names", tipsName(w))
	if !ok {
		return nil
	}
	known := map[string]bool{}
	for _, word := range words {
		known[word] = true
	}
	type candidate struct {
		branch, commit string
		tree           *git.Repo // nil if the branch is checked out nowhere
		made           time.Time
	}
	var found []candidate
	trees := map[string]*git.Repo{}
	for _, tree := range repo.Worktrees() {
		head, err := tree.Head()
		switch {
		case err != nil:
		case head.Branch != "":
			trees[head.Branch] = tree
		case !known[treeName(tree)]:
			found = append(found, candidate{commit: head.Commit, tree: tree})
		}
	}
	for branch, commit := range repo.Branches() {
		if known[branch] {
			continue
		}
		if made := repo.Made(branch); made.IsZero() || until.IsZero() || !made.After(until.Add(strayGrace)) {
			found = append(found, candidate{branch, commit, trees[branch], made})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(b.made.Compare(a.made), cmp.Compare(a.branch, b.branch)) })
	for _, c := range found[:min(len(found), maxStrayLooks)] {
		at := i.stand(repo)
		if c.tree != nil {
			at = i.where(ctx, c.tree)
		} else {
			at.Dir, at.Branch, at.Head = "", c.branch, git.Short(c.commit)
		}
		if taken(at) || !i.isStray(ctx, repo, w, c.commit, at) {
			continue
		}
		if strays = append(strays, at); len(strays) == maxStray {
			break
		}
	}
	return strays
}

// isStray reports whether there is something new at a place, which ends with a commit, and it is
// not the accepted work of another task.
func (i *Inspector) isStray(ctx context.Context, repo *git.Repo, w board.Work, commit string, at board.Where) bool {
	if commit == "" {
		return at.Uncommitted > 0
	}
	if existed, _, err := i.existed(ctx, repo, w, commit); err != nil || existed {
		return err == nil && at.Uncommitted > 0
	}
	last, err := repo.LastChange(ctx, commit)
	if err != nil {
		return false
	}
	by, ok := i.notes(repo).read("heads", last)
	return !ok || len(by) > 0 && by[0] == w.Task.String() || at.Uncommitted > 0
}

// BranchOf returns the branch on which a new commit of the evidence is checked out in another
// worktree than that of the work, empty if there is none.
func (i *Inspector) BranchOf(ctx context.Context, w board.Work, evidence []board.Evidence) string {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil {
		return ""
	}
	for _, e := range evidence {
		if e.Kind != board.EvidenceCommit || !git.IsObject(e.Ref) {
			continue
		}
		if fresh, known, err := i.isNew(ctx, repo, w, e.Ref); err != nil || !fresh || !known {
			continue
		}
		if task, _ := i.accepted(repo, w, e.Ref, "commits", "heads"); task != "" {
			continue
		}
		for _, tree := range repo.Worktrees() {
			if head, err := tree.Head(); err == nil && tree.Root != repo.Root && head.Branch != "" && head.Commit == e.Ref {
				return head.Branch
			}
		}
	}
	return ""
}
