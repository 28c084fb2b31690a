package remote

import (
	"context"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

func (b *Board) Runs(ctx context.Context, id board.ID) ([]board.Run, error) {
	return runs.fetch(ctx, b, nil, getIn{ID: id})
}

var runs = op(access.Runs, func(ctx context.Context, c *call, in getIn) ([]board.Run, error) {
	if err := c.may(in.ID.Project); err != nil {
		return nil, err
	}
	return c.Runs(ctx, in.ID)
})

func (b *Board) Spent(ctx context.Context, slug string) (board.Spending, error) {
	return spent.fetch(ctx, b, nil, slugIn{slug})
}

var spent = op(access.Spent, func(ctx context.Context, c *call, in slugIn) (board.Spending, error) {
	if err := c.may(in.Slug); err != nil {
		return board.Spending{}, err
	}
	return c.Spent(ctx, in.Slug)
})

type logIn struct {
	ID      board.ID
	Attempt int
	After   int64
}

func (b *Board) Log(ctx context.Context, id board.ID, attempt int, after int64) ([]board.LogPart, error) {
	return log.fetch(ctx, b, nil, logIn{id, attempt, after})
}

var log = op(access.Log, func(ctx context.Context, c *call, in logIn) ([]board.LogPart, error) {
	if err := c.may(in.ID.Project); err != nil {
		return nil, err
	}
	return c.Log(ctx, in.ID, in.Attempt, in.After)
})

type diffIn struct {
	ID      board.ID
	Attempt int
}

func (b *Board) Diff(ctx context.Context, id board.ID, attempt int) (board.AttemptDiff, error) {
	return diff.fetch(ctx, b, nil, diffIn{id, attempt})
}

var diff = op(access.Diff, func(ctx context.Context, c *call, in diffIn) (board.AttemptDiff, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.AttemptDiff{}, err
	}
	return c.Diff(ctx, in.ID, in.Attempt)
})

type recordIn struct {
	Run board.Run
	Log []board.LogPart
}

func (b *Board) Record(ctx context.Context, a board.Actor, r board.Run, log ...board.LogPart) error {
	_, err := record.fetch(ctx, b, &a, recordIn{r, log})
	return err
}

var record = op(access.Record, func(ctx context.Context, c *call, in recordIn) (none, error) {
	if err := c.may(in.Run.Claim.Task.Project); err != nil {
		return none{}, err
	}
	return none{}, c.Record(ctx, c.actor, in.Run, in.Log...)
})
