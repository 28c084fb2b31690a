package check

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// began returns the commit that work began from, without a target to compare it with: what it has in
// common with what was checked out when the task was first handed out here. It is empty if that is not
// known.
func (i *Inspector) began(ctx context.Context, repo *git.Repo, w board.Work, commit string) (string, error) {
	for _, claim := range []board.Handle{w.First, w.Claim} {
		if from, _ := i.begun(repo, claim); from != "" && from != unborn {
			return repo.MergeBase(ctx, from, commit)
		}
	}
	return "", nil
}

// Diff returns what the work of a tip changed, zero if it is not known what it began from.
func (i *Inspector) Diff(ctx context.Context, w board.Work, tip board.Tip) (board.Diff, error) {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return board.Diff{}, err
	}
	if from, _ := i.begun(repo, w.First); tip.Base == "" && from != unborn {
		return board.Diff{}, nil
	}
	return ReportDiff(ctx, repo, tip, i.Withhold)
}

// ReportDiff returns the diff that comes with the report of a tip. If it is withheld, the board is told only that there is one.
func ReportDiff(ctx context.Context, repo *git.Repo, tip board.Tip, withhold bool) (board.Diff, error) {
	if withhold {
		return board.Diff{Base: tip.Base, Tip: tip.Commit, Withheld: true}, nil
	}
	return Diff(ctx, repo, tip, reported)
}

// reported bounds the diff that comes with a report.
var reported = git.DiffLimit{Files: board.MaxDiffFiles, Patch: board.MaxFileDiff, All: board.MaxDiff}

// Unshown returns a file of which the diff that came with a report is not what the work of a tip changed; empty if there
// is none.
func Unshown(ctx context.Context, repo *git.Repo, tip board.Tip, d board.Diff) (file string, err error) {
	shown := make([]git.FileDiff, len(d.Files))
	for n, f := range d.Files {
		shown[n] = git.FileDiff(f)
	}
	return repo.Unshown(ctx, tip.Base, tip.Commit, shown, d.More, reported)
}

// Diff returns what the work of a tip changed in a repository that has its commits.
func Diff(ctx context.Context, repo *git.Repo, tip board.Tip, limit git.DiffLimit) (board.Diff, error) {
	files, more, err := repo.Diff(ctx, tip.Base, tip.Commit, limit)
	if err != nil {
		return board.Diff{}, err
	}
	d := board.Diff{Base: tip.Base, Tip: tip.Commit, More: more}
	for _, f := range files {
		d.Files = append(d.Files, board.FileDiff(f))
	}
	return d, nil
}
