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
	// detachedGrace is how much git's time of a commit, in whole seconds, may differ from that of a board.
	detachedGrace = 10 * time.Second
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

// A candidate is where work may be that nobody has named: a branch, a worktree, or both.
type candidate struct {
	branch, commit string
	tree           *git.Repo // nil if the branch is checked out nowhere
	made           time.Time // when the branch was made, if that is known
	old            bool      // it was there when the task was first handed out
	stash          bool      // the commit was made with git stash
}

// candidates returns the worktrees of a repository, and its branches that were made since a task
// was first handed out here, the newest first; none if it is not known what there was then.
func (i *Inspector) candidates(repo *git.Repo, w board.Work) (found []candidate) {
	words, ok := i.notes(repo).read("names", noteName(w.First))
	if !ok {
		words, ok = i.notes(repo).read("names", noteName(w.Claim))
	}
	if !ok {
		return nil
	}
	known := map[string]bool{}
	for _, word := range words {
		known[word] = true
	}
	branches := repo.Branches()
	for _, tree := range repo.Worktrees() {
		if head, err := tree.Head(); err == nil && tree.Root == repo.Room() {
			delete(branches, head.Branch) // nobody works there
		} else if err == nil {
			c := candidate{branch: head.Branch, commit: head.Commit, tree: tree, old: known[treeName(tree)]}
			if c.branch != "" {
				c.old, c.made = c.old && known[c.branch], repo.Made(c.branch)
				delete(branches, c.branch)
			}
			found = append(found, c)
		}
	}
	for branch, commit := range branches {
		if !known[branch] {
			found = append(found, candidate{branch: branch, commit: commit, made: repo.Made(branch)})
		}
	}
	slices.SortFunc(found, newestFirst)
	return found
}

func newestFirst(a, b candidate) int {
	return cmp.Or(b.made.Compare(a.made), cmp.Compare(a.branch, b.branch), cmp.Compare(a.commit, b.commit))
}

// detached returns the commits that were made without a branch in the worktree of an attempt at a task
// while that was under way, and that no ref has.
func (i *Inspector) detached(ctx context.Context, repo *git.Repo, w board.Work) (found []candidate) {
	here := i.stand(repo)
	for _, tree := range repo.Worktrees() {
		here.Dir = tree.Root
		attempts := slices.DeleteFunc(slices.Clone(w.Attempts), func(a board.Attempt) bool { return !a.Where.In(here) })
		if len(attempts) == 0 {
			continue
		}
		for commit, made := range tree.Detached() {
			if !during(attempts, made) {
				continue
			}
			if in, err := repo.InRefs(ctx, commit); err == nil && !in {
				found = append(found, candidate{commit: commit, made: made})
			}
		}
	}
	return found
}

// during reports whether something was made while one of some attempts was under way.
func during(attempts []board.Attempt, made time.Time) bool {
	return slices.ContainsFunc(attempts, func(a board.Attempt) bool {
		return !made.Before(a.GrantedAt.Add(-detachedGrace)) && (a.EndedAt.IsZero() || !made.After(a.EndedAt.Add(detachedGrace)))
	})
}

// Strays returns where a worker that did not name its branch may have worked: branches and
// worktrees that were made since the task was first handed out here, that have something new, and
// that are not taken, commits that it made without a branch, by their full names, and the worktree
// where it was when it was told to work elsewhere. until is when the last attempt ended.
func (i *Inspector) Strays(ctx context.Context, w board.Work, until time.Time, taken func(board.Where) bool) []board.Where {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return nil
	}
	found := slices.DeleteFunc(append(i.candidates(repo, w), i.detached(ctx, repo, w)...), func(c candidate) bool {
		if c.old {
			return !i.stayed(ctx, repo, w, c)
		}
		return !c.made.IsZero() && !until.IsZero() && c.made.After(until.Add(strayGrace))
	})
	slices.SortFunc(found, newestFirst)
	return i.untaken(ctx, repo, w, found, func(_ candidate, at board.Where) bool { return taken(at) })
}

// stayed reports whether the worker of an attempt was in an old worktree when it was told to work on
// a branch elsewhere, and something has changed in that worktree since, and nothing on the branch.
func (i *Inspector) stayed(ctx context.Context, repo *git.Repo, w board.Work, c candidate) bool {
	return slices.ContainsFunc(w.Attempts, func(a board.Attempt) bool {
		words, _ := i.notes(repo).read("begun", noteName(a.Handle))
		if a.Where.Ordered == "" || c.branch == a.Where.Ordered || len(words) == 0 || words[0] != pathName(c.tree.Root) {
			return false
		}
		told := candidate{branch: a.Where.Ordered, commit: repo.Branch(a.Where.Ordered), tree: repo.Worktree(a.Where.Ordered, "")}
		return i.unchanged(ctx, repo, a.Handle, told) && !i.unchanged(ctx, repo, a.Handle, c)
	})
}

// Elsewhere returns where the work may be of a worker that names no branch, if it is not at the
// place of w, which Place returned: worktrees that were made since the task was first handed out
// here, and branches that were made since then and left at the place, that have something which is
// not in the place and was not there when the newest attempt began, and that are not taken. idle says
// since when nothing has changed at the place. If nothing has since that attempt began, worktrees
// that were there before and have changed since are among them, and all new branches that are
// checked out nowhere; if nothing has since the first hand-out, also what earlier attempts made.
func (i *Inspector) Elsewhere(ctx context.Context, w board.Work, taken func(at board.Where, idle board.Idle) bool) (places []board.Where, idle board.Idle, err error) {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil || repo.Bare {
		return nil, 0, err
	}
	tip, checkedOut, err := tip(repo, w.Place)
	if err != nil {
		return nil, 0, err
	}
	if checkedOut {
		always, err := i.idle(ctx, repo, w, w.Place.Uncommitted == 0)
		switch {
		case err != nil:
			return nil, 0, err
		case always:
			idle = board.IdleAlways
		case w.Claim != w.First && i.wasThere(ctx, repo, w.Claim, candidate{commit: tip, tree: repo}, w.Place):
			idle = board.IdleNow
		}
	}
	found := slices.DeleteFunc(i.candidates(repo, w), func(c candidate) bool { return c.tree != nil && c.tree.Root == repo.Root })
	if len(found) == 0 {
		return nil, idle, nil
	}
	if idle == board.NotIdle {
		found = slices.DeleteFunc(found, func(c candidate) bool { return c.old || c.tree == nil && !repo.Had(c.commit) })
	}
	places = i.untaken(ctx, repo, w, found, func(c candidate, at board.Where) bool {
		if idle != board.IdleAlways && i.wasThere(ctx, repo, w.Claim, c, at) || taken(at, idle) || slices.ContainsFunc(w.Others, func(o board.Claim) bool { return beside(o, w, at) }) {
			return true
		}
		if at.Uncommitted > 0 || tip == "" || at.Head == "" {
			return false
		}
		in, err := repo.Contains(ctx, tip, at.Head)
		return err == nil && in
	})
	return places, idle, nil
}

// unchanged reports whether all that a candidate has was there at the hand-out with a claim.
func (i *Inspector) unchanged(ctx context.Context, repo *git.Repo, claim board.Handle, c candidate) bool {
	at := board.Where{}
	if c.tree != nil {
		at = i.where(ctx, c.tree)
	}
	return i.wasThere(ctx, repo, claim, c, at)
}

// wasThere reports whether all that is at the place of a candidate was there at the hand-out with a
// claim: then none of it is the work of that attempt.
func (i *Inspector) wasThere(ctx context.Context, repo *git.Repo, claim board.Handle, c candidate, at board.Where) bool {
	if had, _, err := i.had(ctx, repo, claim, c.commit); c.commit != "" && (err != nil || !had) {
		return false
	}
	if at.Uncommitted == 0 {
		return true
	}
	now, err := i.loose(ctx, c.tree)
	before, known := i.looseBefore(c.tree, claim)
	return err == nil && known && !before.changed(now)
}

// untaken returns the places of some candidates that have something new and are not taken, a few.
func (i *Inspector) untaken(ctx context.Context, repo *git.Repo, w board.Work, found []candidate, taken func(candidate, board.Where) bool) (places []board.Where) {
	for _, c := range found[:min(len(found), maxStrayLooks)] {
		at := i.stand(repo)
		if c.tree != nil {
			at = i.where(ctx, c.tree)
		} else {
			at.Dir, at.Branch, at.Head = "", c.branch, c.commit
		}
		if at.Uncommitted > 0 && !i.isNewLoose(ctx, w, c) {
			at.Uncommitted = 0
		}
		if !i.isStray(ctx, repo, w, c.commit, at) || taken(c, at) {
			continue
		}
		if places = append(places, at); len(places) == maxStray {
			break
		}
	}
	return places
}

// isNewLoose reports whether the uncommitted files in the worktree of a candidate may be a task's work:
// they have not lain about before, and are not what the accepted work of another task has left there.
func (i *Inspector) isNewLoose(ctx context.Context, w board.Work, c candidate) bool {
	now, err := i.loose(ctx, c.tree)
	if err != nil {
		return !c.old
	}
	if by, ok := i.notes(c.tree).read("left", leftName(c.tree, now)); ok && len(by) > 0 && by[0] != w.Task.String() {
		return false
	}
	before, known := i.looseBefore(c.tree, w.First)
	if !known {
		before, known = i.looseBefore(c.tree, w.Claim)
	}
	return !c.old || known && before.changed(now)
}

// isStray reports whether there is something new at a place, which ends with a commit, and it has
// not landed, nor is it the accepted work of another task.
func (i *Inspector) isStray(ctx context.Context, repo *git.Repo, w board.Work, commit string, at board.Where) bool {
	if commit == "" {
		return at.Uncommitted > 0
	}
	if existed, _, err := i.existed(ctx, repo, w, commit); err != nil || existed {
		return err == nil && at.Uncommitted > 0
	}
	if there, err := landed(ctx, repo, w, commit); err != nil || there {
		return err == nil && at.Uncommitted > 0
	}
	last, err := repo.LastChange(ctx, commit)
	if err != nil {
		return false
	}
	by, ok := i.notes(repo).read("heads", last)
	return !ok || len(by) > 0 && by[0] == w.Task.String() || at.Uncommitted > 0
}

// Denied returns where a branch of a claim has commits that were not there when the task was handed out with it: one that its
// worker was told or has named, or the one that is checked out where that was. first is false if there is none, or if one was
// returned before: it is asked if a report says that the task changed no file.
func (i *Inspector) Denied(ctx context.Context, w board.Work) (at board.Where, first bool) {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return at, false
	}
	n := i.notes(repo)
	var found []candidate
	for _, branch := range []string{w.Place.Ordered, w.Place.Branch} {
		if commit := repo.Branch(branch); branch != "" && commit != "" {
			found = append(found, candidate{branch: branch, commit: commit})
		}
	}
	words, _ := n.read("begun", noteName(w.Claim))
	for _, tree := range repo.Worktrees() {
		if head, err := tree.Head(); err == nil && head.Commit != "" && len(words) > 0 && pathName(tree.Root) == words[0] {
			found = append(found, candidate{branch: head.Branch, commit: head.Commit})
		}
	}
	for _, c := range found {
		had, known, err := i.had(ctx, repo, w.Claim, c.commit)
		if err != nil || had || !known {
			continue
		}
		if there, err := landed(ctx, repo, w, c.commit); err != nil || there {
			continue
		}
		if !n.has("denied", noteName(w.Claim)) && n.write("denied", noteName(w.Claim), c.commit) == nil { // else it would be said again and again
			at = i.stand(repo)
			at.Dir, at.Branch, at.Head = "", c.branch, git.Short(c.commit)
			return at, true
		}
	}
	return at, false
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
