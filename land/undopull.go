package land

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// maxPullCommits is how many commits of a pull request are listed: of one that has as many, there may be more.
const maxPullCommits = 100

// beforePull returns the commit of the target before the pull request of a task was merged. A merge commit is the only one
// of the target, and so is a squashed one; a rebase has put the commits of the pull request there, with the same
// subjects and times. The error is a *NotUndoneError if the target had the work already, or if it cannot be told.
func (t *target) beforePull(ctx context.Context, pulls Pulls, i board.Intent, id board.ID) (string, error) {
	var p, other Pull
	for _, item := range i.Items {
		if item.Task != id {
			continue
		}
		var err error
		if p, err = pulls.View(ctx, pullBranch(id, item.Attempt, item.Tip)); err == nil && p.State == "" {
			other, err = pulls.View(ctx, oldBranch(id, item.Attempt))
		}
		if err != nil {
			return "", err
		}
	}
	unsure := notKnown(i, id)
	switch {
	case other.State == PullMerged && other.Merged == i.New: // made by an older version, perhaps for another board's task
		return "", unsure
	case p.State == "":
		return "", &NotUndoneError{fmt.Sprintf("%v has changed nothing: %s had its work already", id, t.at), ""}
	case p.State != PullMerged || p.Merged != i.New:
		return "", unsure
	}
	parent, err := t.repo.Commit(ctx, i.New+"^1")
	if err != nil {
		return "", err
	}
	top, err := t.repo.Log(ctx, parent, i.New, taskTrailer)
	if err != nil {
		return "", err
	}
	n := len(p.Commits)
	switch {
	case len(top) != 1:
		return "", unsure
	case len(top[0].Parents) > 1 || p.Head == i.New: // people may have merged the target into its branch
		before, err := t.beforeMerged(ctx, top[0], p)
		if err == nil && before == "" {
			err = unsure
		}
		return before, err
	case n == 1:
		return parent, nil
	case n == 0 || n >= maxPullCommits:
		return "", unsure
	}
	before, err := t.beforeRebase(ctx, i.New, p.Commits)
	switch {
	case err != nil:
		return "", err
	case before == i.New: // it was squashed
		return parent, nil
	case before == "":
		return "", unsure
	}
	return before, nil
}

// notKnown says that the commits of a pull request are not known.
func notKnown(i board.Intent, id board.ID) error {
	return &NotUndoneError{
		fmt.Sprintf("it is not known which of the commits up to %s are those of the pull request of %v", git.Short(i.New), id),
		fmt.Sprintf("find them with git log %s, and revert them in a task of their own, with git revert OLDEST^..%[1]s", git.Short(i.New)),
	}
}

// touches returns a *NotUndoneError if what would be taken back of a pull request, since a commit of the target, has no file of its task's
// work: then it is the work of others.
func (t *target) touches(ctx context.Context, i board.Intent, id board.ID, before string) error {
	n := slices.IndexFunc(i.Items, func(item board.Item) bool { return item.Task == id })
	if n < 0 {
		return nil
	}
	base, err := t.repo.MergeBase(ctx, before, i.Items[n].Tip)
	if err != nil {
		return nil // its work is not in this clone
	}
	work, err := t.repo.Changed(ctx, base, i.Items[n].Tip, maxFiles)
	if err != nil || len(work) == 0 || len(work) == maxFiles {
		return err
	}
	taken, err := t.repo.Changed(ctx, before, i.New, maxFiles)
	if err == nil && len(taken) < maxFiles && !slices.ContainsFunc(taken, func(path string) bool { return slices.Contains(work, path) }) {
		err = notKnown(i, id)
	}
	return err
}

// beforeMerged returns the commit of the target before it got the commits of a pull request as they are, with a merge or by moving forward to
// them; empty if that cannot be told. top is the newest of them. Either side of a merge may be what the target had.
func (t *target) beforeMerged(ctx context.Context, top git.Logged, p Pull) (string, error) {
	if git.IsObject(p.Head) && p.Head != top.Commit && len(top.Parents) == 2 {
		var without []string
		for _, parent := range top.Parents {
			in, err := t.contains(ctx, parent, p.Head)
			if err != nil {
				return "", err
			}
			if !in {
				without = append(without, parent)
			}
		}
		if len(without) == 1 {
			return without[0], nil
		}
	}
	if n := len(p.Commits); n == 0 || n >= maxPullCommits {
		return "", nil
	}
	return t.beforeOwn(ctx, top.Commit, p.Commits)
}

// beforeOwn returns the newest commit that is in the history of a tip and is not one of a pull request. It is empty if there are several
// which are not in each other, or if a commit of the pull request is not there.
func (t *target) beforeOwn(ctx context.Context, tip string, commits []PullCommit) (string, error) {
	left, seen := slices.Clone(commits), map[string]bool{tip: true}
	var others []string
	for todo := []string{tip}; len(todo) > 0; {
		list, err := t.repo.Logged(ctx, todo...)
		if err != nil || len(seen) > 4*maxPullCommits {
			return "", err
		}
		todo = nil
		for _, c := range list {
			n := slices.IndexFunc(left, func(p PullCommit) bool { return p.Commit == c.Commit || p.Commit == "" && p.is(c) })
			if n < 0 && c.Commit != tip {
				others = append(others, c.Commit)
				continue
			}
			if n >= 0 {
				left = slices.Delete(left, n, n+1)
			}
			for _, parent := range c.Parents {
				if !seen[parent] {
					seen[parent], todo = true, append(todo, parent)
				}
			}
		}
	}
	if slices.ContainsFunc(left, func(p PullCommit) bool { return !t.isMerge(ctx, p) }) {
		return "", nil
	}
	var newest []string
	for _, c := range others {
		older := false
		for _, o := range others {
			if o == c || older {
				continue
			}
			var err error
			if older, err = t.contains(ctx, o, c); err != nil {
				return "", err
			}
		}
		if !older {
			newest = append(newest, c)
		}
	}
	if len(newest) != 1 {
		return "", nil
	}
	return newest[0], nil
}

// beforeRebase returns the commit of the target before those, up to tip, that are commits of a pull request: tip itself if that is
// none of them. A rebase leaves out merges, such as those that update a branch. If another commit is missing, it returns "".
func (t *target) beforeRebase(ctx context.Context, tip string, commits []PullCommit) (before string, err error) {
	left := slices.Clone(commits)
	for before = tip; len(left) > 0; {
		parent, err := t.repo.Commit(ctx, before+"^1")
		if err != nil {
			return "", nil // the history is shorter than that
		}
		list, err := t.repo.Log(ctx, parent, before, taskTrailer)
		if err != nil || len(list) != 1 {
			return "", err
		}
		n := slices.IndexFunc(left, func(p PullCommit) bool { return p.is(list[0]) })
		if n < 0 && before == tip && slices.ContainsFunc(left, func(p PullCommit) bool { return p.Authored == list[0].Authored }) {
			return "", nil // one that is squashed has a time of its own
		}
		if n < 0 || len(list[0].Parents) > 1 {
			break
		}
		left = slices.Delete(left, n, n+1)
		before = parent
	}
	if before != tip && slices.ContainsFunc(left, func(p PullCommit) bool { return !t.isMerge(ctx, p) }) {
		return "", nil
	}
	return before, nil
}

// isMerge reports whether a commit of a pull request is a merge. If it is not to be had any more, its subject says so.
func (t *target) isMerge(ctx context.Context, p PullCommit) bool {
	if git.IsObject(p.Commit) {
		if _, err := t.repo.Commit(ctx, p.Commit); err == nil {
			_, err = t.repo.Commit(ctx, p.Commit+"^2")
			return err == nil
		}
	}
	return strings.HasPrefix(p.Subject, "Merge ")
}

// is reports whether a commit of the target is one of a pull request. Long subjects are cut there.
func (p PullCommit) is(c git.Logged) bool {
	subject, cut := strings.CutSuffix(p.Subject, "…")
	return p.Authored == c.Authored && (p.Subject == c.Subject || cut && strings.HasPrefix(c.Subject, subject))
}
