package remote

import (
	"context"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

type eraseIn struct {
	ID     board.ID
	Reason string
}

func (b *Board) Erase(ctx context.Context, a board.Actor, id board.ID, reason string) (board.Task, error) {
	return erase.fetch(ctx, b, &a, eraseIn{id, reason})
}

var erase = op(access.Erase, func(ctx context.Context, c *call, in eraseIn) (board.Task, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.Task{}, err
	}
	return c.Erase(ctx, c.actor, in.ID, in.Reason)
})

type redactIn struct {
	ID     board.ID
	Seq    int64
	Reason string
}

func (b *Board) Redact(ctx context.Context, a board.Actor, id board.ID, seq int64, reason string) error {
	_, err := redact.fetch(ctx, b, &a, redactIn{id, seq, reason})
	return err
}

var redact = op(access.Redact, func(ctx context.Context, c *call, in redactIn) (none, error) {
	if err := c.may(in.ID.Project); err != nil {
		return none{}, err
	}
	return none{}, c.Redact(ctx, c.actor, in.ID, in.Seq, in.Reason)
})
