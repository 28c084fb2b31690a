package main

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/boardcli"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskRetry() *cobra.Command {
	var note string
	cmd := a.eachTask("retry TASK…", "Retry a failed task", func(ctx context.Context, o *openBoard, id board.ID) error {
		return a.reviewDesk(o).Decide(ctx, id, board.Decision{Verdict: board.Retry, Note: note})
	})
	cmd.Flags().StringVarP(&note, "note", "m", "", "a note for the next attempt")
	return cmd
}

// reviewing opens the board for boardcli.Review.
func (a *app) reviewing(ctx context.Context) (boardcli.ReviewDesk, error) {
	o, err := a.open(ctx)
	if err != nil {
		return boardcli.ReviewDesk{}, err
	}
	return a.reviewDesk(o), nil
}

// reviewDesk is where the person of a command reviews.
func (a *app) reviewDesk(o *openBoard) boardcli.ReviewDesk {
	return boardcli.ReviewDesk{
		Reviewer: o, Actor: a.actor(), Principal: o.principal(), Here: o.diffHere,
		Each: func(names []string, do func(board.ID) error) error {
			return a.each(names, func(name string) error {
				id, err := o.parseTask(name)
				if err != nil {
					return console.WithNext(err, "the verdict is accept, reject or retry, and stands after the tasks")
				}
				return taskNotFound(do(id), id)
			})
		},
		Print: func(ctx context.Context, out board.Outcome, text string) error {
			dir, err := o.settings.WorkDir()
			if d, failed := o.Get(ctx, out.Task, 0); err == nil && failed == nil {
				text += crew.MergeText(ctx, dir, o.principal(), d)
			}
			return a.printOutcome(out, text)
		},
	}
}

// diffing is named for boardcli.Diff.
func (a *app) diffing(ctx context.Context, task string) (boardcli.Diffing, error) {
	o, id, err := a.named(ctx, task)
	if err != nil {
		return boardcli.Diffing{}, err
	}
	return boardcli.Diffing{Differ: o, Task: id, Here: o.diffHere}, nil
}

// diffHere returns what was changed between two commits, if they are in this clone.
func (o *openBoard) diffHere(ctx context.Context, d board.Diff) (board.Diff, bool) {
	_, repo, err := o.repository()
	if err != nil || d.Tip == "" {
		return d, false
	}
	whole, err := check.Diff(ctx, repo, board.Tip{Commit: d.Tip, Base: d.Base}, git.DiffLimit{Files: 10_000, Patch: 1 << 20, All: 16 << 20})
	return whole, err == nil
}
