package board

import (
	"context"
	"maps"
	"time"
)

// undelivered releases a claim that its worker never received. If the database is away, Run
// tries again.
func (b *Board) undelivered(ctx context.Context, a Actor, claim Claim) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := b.releaseUndelivered(ctx, a, claim); err != nil {
		b.o.Logger.Warn("releasing an undelivered task failed", "task", claim.Task, "err", err)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.abandonLocked(grantID{claim.Worker, claim.Nonce})
	}
}

// releaseUndelivered releases a claim, unless its worker has heard of it after all.
func (b *Board) releaseUndelivered(ctx context.Context, a Actor, claim Claim) error {
	return b.change(ctx, a, func(c *change) error {
		if err := c.lock(claim.Task); err != nil {
			return err
		}
		if claim.IsReview() {
			_, err := c.endReview(claim, CauseUndelivered, "the worker was gone before it received the review")
			return err
		}
		t := c.tasks[claim.Task]
		if t.Status != InProgress || t.handle() != claim.Handle {
			return nil
		}
		if held, err := c.seize(t); err != nil || held.claim.Deliveries > 0 {
			return err
		}
		return c.release(t, CauseUndelivered, "the worker was gone before it received the task")
	})
}

// A grantID identifies a grant that may have been made: the name and the nonce that were
// sent to the store.
type grantID struct {
	worker WorkerID
	nonce  string
}

// abandonTime is how long an abandoned grant may still appear: longer than any statement runs.
const abandonTime = time.Minute

// abandonLocked notes that a grant may have been made, and that the call that asked for it has
// ended without an answer. Run releases the claim.
func (b *Board) abandonLocked(g grantID) {
	if b.abandoned == nil {
		b.abandoned = map[grantID]time.Time{}
	}
	b.abandoned[g] = time.Now()
}

// endAbandoned releases the claims of abandoned grants.
func (b *Board) endAbandoned(ctx context.Context) {
	b.mu.Lock()
	abandoned := maps.Clone(b.abandoned)
	b.mu.Unlock()
	for g, since := range abandoned {
		var st Standing
		err := b.store.Read(ctx, func(r Reader) (err error) {
			st, err = r.Standing(g.worker)
			return err
		})
		if err != nil {
			return // the database is away; the next try is in a second
		}
		held := st.Held()
		made := held != nil && held.Nonce == g.nonce
		if made && held.Deliveries == 0 {
			if err := b.releaseUndelivered(ctx, Actor{Principal: boardActor}, *held); err != nil {
				return
			}
		}
		if made || time.Since(since) > abandonTime {
			b.mu.Lock()
			delete(b.abandoned, g)
			b.mu.Unlock()
		}
	}
}
