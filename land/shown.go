package land

import (
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// shown says why work does not land of which reviewers were not shown all, or something else. What was recorded about
// it is the word of the client that has reported it. base is what the work has in common with the target, and paths
// are the files that it changes since then.
func (l *Lander) shown(ctx context.Context, onto, base string, q board.Queued, paths []string, had past) (why string, err error) {
	back := fmt.Sprintf("; to send it back: bossman land return %v", q.Task.ID)
	if from := q.Tip.Base; from != "" && from != base { // base is in both
		in, err := l.target.contains(ctx, onto, from)
		if err != nil {
			return "", err
		}
		if !in {
			return fmt.Sprintf("it was reported to begin from commit %s, which is not in %s: more would land than was shown", git.Short(from), l.o.Target) + back, nil
		}
		if in, err = l.o.Repo.Contains(ctx, q.Tip.Commit, from); err != nil {
			return "", err
		}
		if !in {
			return fmt.Sprintf("it was reported to begin from commit %s, which is not in its history: reviewers were shown something else than commit %s changes", git.Short(from), git.Short(q.Tip.Commit)) + back, nil
		}
		told, err := l.o.Repo.Changed(ctx, from, q.Tip.Commit, maxFiles)
		if err != nil {
			return "", err
		}
		if n := slices.IndexFunc(paths, func(path string) bool { return !slices.Contains(told, path) }); n >= 0 && len(told) < maxFiles {
			return fmt.Sprintf("it changes %.200q since commit %s, and reviewers were shown what it changes since commit %s: that leaves this file out", visible.Line(paths[n]), git.Short(base), git.Short(from)) + back, nil
		}
		newer, err := l.begunLater(ctx, onto, q, had)
		if err != nil {
			return "", err
		}
		if newer != "" {
			return fmt.Sprintf("it was reported to begin from commit %s, and was made on top of commit %s, which had landed by then: reviewers were not shown what it takes back of that", git.Short(from), git.Short(newer)) + back, nil
		}
	}
	file, err := l.untrue(ctx, q)
	if err != nil || file == "" {
		return "", err
	}
	return fmt.Sprintf("reviewers were shown something else than commit %s changes: the diff that was reported is not that of %.200q; look at it with bossman task diff %v in a clone that has the commit", git.Short(q.Tip.Commit), visible.Line(file), q.Task.ID) + back, nil
}

// begunLater returns a commit that the work of a task was made on top of and that had landed when it was reported, but
// is not in what it was reported to begin from; empty if there is none.
func (l *Lander) begunLater(ctx context.Context, onto string, q board.Queued, had past) (commit string, err error) {
	d, err := l.o.Board.Get(ctx, q.Task.ID, 0)
	if err != nil {
		return "", err
	}
	n := slices.IndexFunc(d.Attempts, func(a board.Attempt) bool { return a.Attempt == q.Task.Attempt })
	if n < 0 {
		return "", nil
	}
	reported := d.Attempts[n].EndedAt
	own, err := l.o.Repo.Only(ctx, q.Tip.Commit, q.Tip.Base)
	if err != nil {
		return "", err
	}
	for _, move := range had.moves {
		if !move.EndedAt.Before(reported) {
			continue
		}
		commits := []string{move.New}
		for _, item := range move.Items {
			commits = append(commits, item.Tip)
		}
		for _, commit := range commits {
			if !own[commit] {
				continue
			}
			if in, err := l.target.contains(ctx, onto, commit); err != nil || in { // else it has landed in another form
				return commit, err
			}
		}
	}
	return "", nil
}

// maxDiffs is how many diffs a lander remembers to have compared.
const maxDiffs = 10_000

// untrue returns a file of which the diff that reviewers were shown is not what the work changes; empty if there is
// none, or they were shown no diff.
func (l *Lander) untrue(ctx context.Context, q board.Queued) (file string, err error) {
	key := fmt.Sprint(q.Task.ID, " ", q.Task.Attempt, " ", q.Tip.Commit)
	if file, ok := l.diffs[key]; ok {
		return file, nil
	}
	d, err := l.o.Board.Diff(ctx, q.Task.ID, q.Task.Attempt)
	if err != nil {
		return "", err
	}
	if !d.Diff.IsZero() && !d.Diff.Withheld {
		if file, err = check.Unshown(ctx, l.o.Repo, q.Tip, d.Diff); err != nil {
			return "", err
		}
	}
	if len(l.diffs) == maxDiffs {
		clear(l.diffs)
	}
	l.diffs[key] = file
	return file, nil
}
