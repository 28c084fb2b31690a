package remote

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

type workersIn struct{ Since time.Duration }

type workersOut struct {
	Workers []board.Worker
	Now     time.Time
}

func (b *Board) Workers(ctx context.Context, since time.Duration) ([]board.Worker, time.Time, error) {
	out, err := workers.fetch(ctx, b, nil, workersIn{since})
	return out.Workers, out.Now, err
}

// workers lists the caller's own workers, and those who hold a task in its projects.
var workers = op(access.Workers, func(ctx context.Context, c *call, in workersIn) (out workersOut, err error) {
	all, now, err := c.Workers(ctx, in.Since)
	if err != nil {
		return out, err
	}
	holders, err := c.holders(ctx)
	if err != nil {
		return out, err
	}
	out.Now = now
	for _, w := range all {
		if w.Principal == c.caller.Principal || holders[w.WorkerID] {
			if w.Owner != "" { // otherwise its process has ended
				w.Owner = c.process(w.Owner)
			}
			out.Workers = append(out.Workers, w)
		}
	}
	return out, nil
})

func (b *Board) Stop(ctx context.Context, a board.Actor, w board.WorkerID) (board.ID, error) {
	return stop.fetch(ctx, b, &a, w)
}

// stop is for the caller's own workers, and for those who hold a task in a project
// that it leads.
var stop = op(access.Stop, func(ctx context.Context, c *call, w board.WorkerID) (board.ID, error) {
	if w.Principal != c.caller.Principal {
		holders, err := c.holders(ctx)
		if err != nil {
			return board.ID{}, err
		}
		if !holders[w] {
			return board.ID{}, board.ErrNotFound
		}
	}
	return c.Stop(ctx, c.actor, w)
})

// holders are the workers who hold a task in a project where the caller may do this.
func (c *call) holders(ctx context.Context) (map[board.WorkerID]bool, error) {
	holders := map[board.WorkerID]bool{}
	for _, slug := range c.caller.Projects(c.verb) {
		held, err := c.Claims(ctx, board.ClaimFilter{Project: slug})
		if err != nil {
			return nil, err
		}
		for _, h := range held {
			holders[h.Worker] = true
		}
	}
	return holders, nil
}
