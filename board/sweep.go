package board

import (
	"context"
	"errors"
	"time"
)

const (
	// sweepBatch bounds a transaction of the sweep.
	sweepBatch = 100
	// asleep is a gap between two sweeps that means that the machine slept.
	asleep = time.Minute
)

// sweepAlways sweeps until ctx ends.
func (b *Board) sweepAlways(ctx context.Context) {
	tick := time.NewTicker(b.o.Sweep)
	defer tick.Stop()
	last := time.Now().Round(0) // the wall clock runs on while a machine sleeps
	forgot := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now().Round(0)
		if gap := now.Sub(last); gap > asleep+b.o.Sweep {
			// The workers slept too: nobody could give a sign of life.
			b.o.Logger.Info("no sweep for a while, leases are renewed", "gap", gap)
			if err := b.upkeep(ctx, func(tx Tx) error { return tx.Extend() }); err != nil && ctx.Err() == nil {
				b.o.Logger.Warn("leases could not be renewed", "err", err)
				continue
			}
		}
		last = now
		if _, err := b.sweep(ctx); err != nil && ctx.Err() == nil {
			b.o.Logger.Warn("the sweep failed", "err", err)
		}
		if now.Sub(forgot) > time.Hour {
			forgot = now
			b.forget(ctx)
		}
	}
}

// upkeep is a write that nobody asked for: where there is nothing on the board yet
// there is nothing to look after, and a file is not made for it.
func (b *Board) upkeep(ctx context.Context, f func(Tx) error) error {
	ps, err := b.Projects(ctx)
	if err != nil || len(ps) == 0 {
		return err
	}
	return b.store.Write(ctx, f)
}

// forget deletes idempotency keys that are too old to be asked for.
func (b *Board) forget(ctx context.Context) {
	if err := b.upkeep(ctx, func(tx Tx) error { return tx.Forget(keyTime) }); err != nil && ctx.Err() == nil {
		b.o.Logger.Warn("old keys could not be deleted", "err", err)
	}
}

// sweep ends claims that have run out, frees tasks whose rest is over and gives
// questions their default. It writes only if there is something, and reports
// whether there was.
func (b *Board) sweep(ctx context.Context) (bool, error) {
	swept := false
	for {
		stale := false
		err := b.store.Read(ctx, func(r Reader) (err error) {
			stale, err = r.Stale()
			return err
		})
		if err != nil || !stale {
			return swept, err
		}
		n := 0
		err = b.change(ctx, Actor{Principal: boardActor}, func(c *change) error {
			n, err = c.sweep()
			return err
		})
		if err != nil {
			return swept, err
		}
		if n == 0 { // others are at it
			return swept, nil
		}
		swept = true
	}
}

func (c *change) sweep() (int, error) {
	n := 0
	expired, err := c.tx.Expired(sweepBatch)
	if err != nil {
		return 0, err
	}
	due, err := c.tx.Due(sweepBatch)
	if err != nil {
		return 0, err
	}
	c.adopt(expired)
	c.adopt(due)
	if err := c.clock(); err != nil {
		return 0, err
	}
	for _, t := range expired {
		done, err := c.expire(c.tasks[t.ID])
		if err != nil {
			return 0, err
		}
		if done {
			n++
		}
	}
	for _, t := range due {
		c.rested(c.tasks[t.ID])
		n++
	}
	overdue, err := c.tx.Overdue(sweepBatch)
	if err != nil {
		return 0, err
	}
	for _, q := range overdue {
		if !q.Claim.IsZero() {
			if err := c.lock(q.Claim.Task); err != nil {
				return 0, err
			}
		}
		if err := c.answer(&q, q.Default, AnsweredByDefault); err != nil && !errors.Is(err, ErrConflict) {
			return 0, err
		}
		n++
	}
	return n, nil
}

// expire ends the claim on a locked task, if it has not been renewed meanwhile.
func (c *change) expire(t *Task) (bool, error) {
	held, err := c.seize(t)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil || held.claim.LeaseUntil.After(c.now) {
		return false, err
	}
	from := t.Status
	c.fail(t)
	c.event(t, EventExpired, from, Detail{
		Attempt: t.Attempt, Nonce: t.Nonce, Worker: held.attempt.Worker.Name, Cause: CauseExpired, Where: held.attempt.Where,
	})
	if err := c.disown(held); err != nil {
		return false, err
	}
	return true, c.end(held, CauseExpired, "no sign of life")
}

// disown gives up the name of a worker whose process gave no sign of life: the agent
// may come back in another one, and is told to use that name.
func (c *change) disown(h *holding) error {
	st, err := c.tx.Standing(h.attempt.Worker)
	if err != nil || st.Worker.Owner != h.claim.Owner {
		return err
	}
	st.Worker.Owner = ""
	return c.tx.PutWorker(st.Worker)
}

// rested frees a task whose cool-down or reservation is over.
func (c *change) rested(t *Task) {
	t.NotBefore = time.Time{}
	t.ReservedFor = WorkerID{}
	c.event(t, EventDue, t.Status, Detail{})
}

// Renew is a sign of life of a process or key: its workers' claims get their full
// lease again where less than half is left. It gives the claims that it holds.
func (b *Board) Renew(ctx context.Context, owner string) ([]Claim, error) {
	if owner == "" {
		return nil, nil // nobody, and not everybody
	}
	var held []Claim
	var now time.Time
	err := b.store.Read(ctx, func(r Reader) (err error) {
		if now, err = r.Now(); err != nil {
			return err
		}
		held, err = r.Claims(ClaimFilter{Owner: owner})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, claim := range held {
		if claim.LeaseUntil.Sub(now) >= claim.Lease/2 {
			continue
		}
		if err := b.renew(ctx, claim); err != nil {
			return held, err
		}
	}
	return held, nil
}

func (b *Board) renew(ctx context.Context, claim Claim) error {
	return b.change(ctx, Actor{Principal: claim.Worker.Principal, Owner: claim.Owner, Worker: claim.Worker.Name}, func(c *change) error {
		renewed, err := c.tx.Renew(claim.Handle)
		if err != nil || renewed {
			return err
		}
		// It ran out; unless the sweep was quicker, it is revived.
		if err := c.lock(claim.Task); err != nil {
			return err
		}
		held, err := c.inForce(claim.Handle)
		if errors.Is(err, ErrLeaseLost) {
			return nil
		}
		if err != nil || !c.prolong(held) {
			return err
		}
		return c.tx.UpdateClaim(*held.claim)
	})
}

// Leave says that a process has ended: what its workers hold stays theirs for a
// short while, so that they can come back, and their names may be taken up again.
func (b *Board) Leave(ctx context.Context, owner string) error {
	if owner == "" {
		return nil
	}
	return b.upkeep(ctx, func(tx Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		held, err := tx.Claims(ClaimFilter{Owner: owner})
		if err != nil {
			return err
		}
		for _, claim := range held {
			if parting := now.Add(b.o.Parting); claim.LeaseUntil.After(parting) {
				claim.LeaseUntil = parting
				if err := tx.UpdateClaim(claim); err != nil && !errors.Is(err, ErrConflict) {
					return err // a conflict: it has ended, and the task is in other hands
				}
			}
		}
		return tx.Disown(owner)
	})
}

// Workers lists who was seen since a moment.
func (b *Board) Workers(ctx context.Context, since time.Duration) (ws []Worker, now time.Time, err error) {
	err = b.store.Read(ctx, func(r Reader) (err error) {
		if now, err = r.Now(); err != nil {
			return err
		}
		ws, err = r.Workers(now.Add(-since))
		return err
	})
	return ws, now, err
}

// Stop tells a worker to stop: its task goes back, and it gets no more work.
func (b *Board) Stop(ctx context.Context, a Actor, w WorkerID) (ID, error) {
	var task ID
	err := b.change(ctx, a, func(c *change) error {
		task = ID{}
		st, err := c.tx.Standing(w)
		if err != nil {
			return err
		}
		if st.Worker.IsZero() {
			return ErrNotFound
		}
		if st.Claim != nil {
			task = st.Claim.Task
			if err := c.lock(task); err != nil {
				return err
			}
			if t := c.tasks[task]; t.Status == InProgress && t.handle() == st.Claim.Handle {
				if err := c.release(t, CauseStopped, "stopped by "+a.String()); err != nil {
					return err
				}
			}
		}
		st.Worker.StoppedBy = a.String()
		return c.tx.PutWorker(st.Worker)
	})
	return task, err
}
