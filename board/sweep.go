package board

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// sweepBatch is how many tasks one transaction of a sweep handles.
const sweepBatch = 100

// sweepAlways sweeps at regular intervals until ctx ends.
func (b *Board) sweepAlways(ctx context.Context) {
	tick := time.NewTicker(b.o.Sweep)
	defer tick.Stop()
	forgot := time.Time{}
	var failing failure
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := b.sweep(ctx); failing.news(err, time.Now()) && ctx.Err() == nil {
			b.o.Logger.Warn("sweep failed", "err", err)
		}
		if now := time.Now(); now.Sub(forgot) > time.Hour {
			forgot = now
			b.forget(ctx)
		}
	}
}

// sayAgain is how often an error that stays the same is logged.
const sayAgain = 10 * time.Minute

// A failure is what something that is done all the time fails with, zero if it does not.
type failure struct {
	text string
	told time.Time
}

// news reports whether an error is to be told.
func (f *failure) news(err error, now time.Time) bool {
	if err == nil {
		*f = failure{}
		return false
	}
	if err.Error() == f.text && now.Sub(f.told) < sayAgain {
		return false
	}
	*f = failure{err.Error(), now}
	return true
}

// upkeep runs f in a write transaction, unless the board is still empty: maintenance must
// not create a database file.
func (b *Board) upkeep(ctx context.Context, f func(Tx) error) error {
	ps, err := b.Projects(ctx)
	if err != nil || len(ps) == 0 {
		return err
	}
	return b.store.Write(ctx, f)
}

// forget deletes old idempotency keys, calls and artifacts, and workers that were not seen for long.
func (b *Board) forget(ctx context.Context) {
	if err := b.upkeep(ctx, func(tx Tx) error { return tx.Forget(keyTime) }); err != nil && ctx.Err() == nil {
		b.o.Logger.Warn("deleting old idempotency keys failed", "err", err)
	}
	if err := b.upkeep(ctx, func(tx Tx) error { return tx.ForgetWorkers(workerTime) }); err != nil && ctx.Err() == nil {
		b.o.Logger.Warn("deleting workers that were not seen for long failed", "err", err)
	}
	if err := b.upkeep(ctx, func(tx Tx) error { return errors.Join(tx.ForgetCalls(callTime), tx.ForgetArtifacts(artifactTime)) }); err != nil && ctx.Err() == nil {
		b.o.Logger.Warn("deleting old calls and artifacts failed", "err", err)
	}
}

// sweep ends expired claims and those of killed processes, frees tasks whose cool-down or
// reservation is over, and closes overdue questions with their default. If nobody has swept
// for a while, it extends leases first. It writes only if there is something to do, or if
// the time of the sweep must be recorded, and reports whether it changed something.
func (b *Board) sweep(ctx context.Context) (bool, error) {
	swept := false
	for {
		stale := false
		err := b.store.Read(ctx, func(r Reader) (err error) {
			if stale, err = r.Stale(); err != nil || stale {
				return err
			}
			if stale, err = r.SweepDue(); err != nil || stale {
				return err
			}
			gone, err := r.Gone()
			stale = len(gone) > 0
			return err
		})
		if err == nil && !stale {
			b.swept.Store(time.Now().Unix())
		}
		if err != nil || !stale {
			return swept, err
		}
		n := 0
		var begun Sweep
		err = b.change(ctx, Actor{Principal: boardActor}, func(c *change) (err error) {
			n = 0
			if begun, err = c.tx.BeginSweep(b.o.Sweep); err != nil || begun.Wait {
				return err
			}
			n, err = c.sweep(begun.At)
			return err
		})
		if err != nil {
			return swept, err
		}
		if begun.Extended > 0 {
			b.o.Logger.Info("holders could not renew their claims: extended leases", "gap", begun.Gap, "claims", begun.Extended)
		}
		if n == 0 && begun.Extended == 0 { // nothing but the time was recorded, or another process is sweeping
			if !begun.Wait {
				b.swept.Store(time.Now().Unix())
			}
			return swept, nil
		}
		swept = swept || n > 0
	}
}

// sweep handles one batch of what was over at a point in time, and returns how many tasks
// and questions it changed.
func (c *change) sweep(at time.Time) (int, error) {
	if err := c.clock(); err != nil {
		return 0, err
	}
	gone, err := c.expireGone()
	if err != nil {
		return 0, err
	}
	n := len(gone)
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
		done, err := c.expire(c.tasks[t.ID], at, gone)
		if err != nil {
			return 0, err
		}
		if done {
			n++
		}
	}
	for _, t := range due {
		c.ready(c.tasks[t.ID])
		n++
	}
	reviews, err := c.expireReviews(at, gone)
	if err != nil {
		return 0, err
	}
	n += reviews
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
		if q.HumanOnly && !lapses(q.ChatID, q.Default) { // asked through an older program: people decide, and not the clock
			q.Default = ""
			if err := c.tx.UpdateQuestion(q); err != nil && !errors.Is(err, ErrConflict) {
				return 0, err
			}
			n++
			continue
		}
		if err := c.answer(&q, q.Default, AnsweredByDefault, ""); err != nil && !errors.Is(err, ErrConflict) {
			return 0, err
		}
		n++
	}
	return n, nil
}

// expireGone lets the leases of killed processes expire, frees their workers' names, and
// returns their owners.
func (c *change) expireGone() ([]string, error) {
	gone, err := c.tx.Gone()
	if err != nil {
		return nil, err
	}
	for _, owner := range gone {
		held, err := claimsAndReviews(c.tx, ClaimFilter{Owner: owner})
		if err != nil {
			return nil, err
		}
		for _, claim := range held {
			claim.LeaseUntil = c.now
			if err := updateHeld(c.tx, claim); err != nil {
				return nil, err
			}
		}
		if err := c.tx.Disown(owner); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// EndStale ends the claims of processes that were killed and those whose leases are over, so
// that what is read next does not show them at work. Run does so all the time; this is for a
// process that only looks.
func (b *Board) EndStale(ctx context.Context) error {
	_, err := b.sweep(ctx)
	return err
}

// markKilled marks the claims whose processes were killed.
func markKilled(r Reader, claims []Claim) error {
	if len(claims) == 0 {
		return nil
	}
	gone, err := r.Gone()
	for i := range claims {
		claims[i].Killed = slices.Contains(gone, claims[i].Owner)
	}
	return err
}

// markKilled marks the claims of a dossier whose processes were killed.
func (d *Dossier) markKilled(r Reader) error {
	for _, c := range []**Claim{&d.Claim, &d.Review} {
		if *c == nil {
			continue
		}
		claims := []Claim{**c}
		if err := markKilled(r, claims); err != nil {
			return err
		}
		*c = &claims[0]
	}
	return nil
}

// Killed is the reason of a claim that expired because its process was killed.
const Killed = "its process was killed"

// expire ends the claim on a locked task if its lease was over at a point in time. gone are
// the owners whose processes were killed.
func (c *change) expire(t *Task, at time.Time, gone []string) (bool, error) {
	held, err := c.seize(t)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	killed := err == nil && slices.Contains(gone, held.claim.Owner)
	if err != nil || held.claim.LeaseUntil.After(at) && !killed {
		return false, err
	}
	asked, err := c.blocking(t.ID)
	if err != nil {
		return false, err
	}
	for _, q := range asked {
		if q.Claim == held.claim.Handle { // its worker waited for the answer, as the task does now
			if err := cmp.Or(c.disown(*held.claim), c.setAskers(held.claim.Handle, "")); err != nil {
				return false, err
			}
			return true, c.park(held, q.ID)
		}
	}
	reason, text := "no sign of life", ""
	if killed {
		reason, text = Killed, Killed
	}
	from := t.Status
	c.fail(t)
	c.event(t, EventExpired, from, Detail{
		Attempt: t.Attempt, Nonce: t.Nonce, Worker: held.attempt.Worker.Name, Cause: CauseExpired, Text: text, Where: held.attempt.Where,
	})
	if err := c.disown(*held.claim); err != nil {
		return false, err
	}
	return true, c.end(held, CauseExpired, reason)
}

// disown frees the name of a worker whose process gave no sign of life, so that the agent
// can use it again from another process.
func (c *change) disown(claim Claim) error {
	w, err := c.tx.Worker(claim.Worker)
	if err != nil || w.Owner != claim.Owner {
		return err
	}
	w.Owner = ""
	return c.tx.PutWorker(w)
}

// ready ends the cool-down or the reservation of a task.
func (c *change) ready(t *Task) {
	t.NotBefore = time.Time{}
	t.ReservedFor = WorkerID{}
	c.event(t, EventDue, t.Status, Detail{})
}
