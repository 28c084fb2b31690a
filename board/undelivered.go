package board

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// undelivered releases a claim that its worker never received. If the database is away, Run
// tries again.
func (b *Board) undelivered(ctx context.Context, a Actor, claim Claim) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := b.releaseUndelivered(ctx, a, claim, noLimit); err != nil {
		b.o.Logger.Warn("releasing an undelivered task failed", "task", claim.Task, "err", err)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.abandonLocked(grantID{claim.Worker, claim.Nonce})
	}
}

const (
	// maxUnanswered is how often in a row a task is released because an answer could not be
	// written. After that the lease decides, and a failure is counted.
	maxUnanswered = 2
	noLimit       = 0
)

// releaseUndelivered releases a claim, unless its worker has heard of it after all, or the last
// attempts, as many as limit, were released like this.
func (b *Board) releaseUndelivered(ctx context.Context, a Actor, claim Claim, limit int) error {
	return b.change(ctx, a, func(c *change) error {
		if err := c.lock(claim.Task); err != nil {
			return err
		}
		if claim.IsReview() {
			if live, err := c.liveReview(claim.Task); err != nil || live == nil || live.Deliveries > 0 {
				return err
			}
			_, err := c.endReview(claim, CauseUndelivered, "the worker was gone before it received the review")
			return err
		}
		t := c.tasks[claim.Task]
		if t.Status != InProgress || t.handle() != claim.Handle {
			return nil
		}
		held, err := c.seize(t)
		if err != nil || held.claim.Deliveries > 0 {
			return err
		}
		if heard, err := c.heard(t, *held.claim); err != nil || heard {
			return err
		}
		for n := 1; limit > 0 && n < t.Attempt; n++ {
			earlier, err := c.tx.Attempt(t.ID, t.Attempt-n)
			if err != nil {
				return err
			}
			if earlier.Cause != CauseUndelivered {
				break
			}
			if n == limit {
				return nil
			}
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
			if err := b.releaseUndelivered(ctx, Actor{Principal: boardActor}, *held, noLimit); err != nil {
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

// heard reports whether a call has named the claim of a task.
func (c *change) heard(t *Task, claim Claim) (bool, error) {
	if claim.LastCall.After(claim.GrantedAt.Add(time.Second)) {
		return true, nil
	}
	events, err := c.tx.Events(t.ID, max(0, t.Seq-20), 20)
	return slices.ContainsFunc(events, func(e Event) bool {
		return e.Kind != EventClaimed && e.Detail.Attempt == claim.Attempt && e.Detail.Nonce == claim.Nonce
	}), err
}

// An unanswered claim is one whose answer could not be written.
type unanswered struct {
	claim Claim
	at    time.Time
}

// Unanswered tells the board that the answer with a claim reached nobody. Run releases the claim,
// unless a call has named it after a while: the same request may come again. No failure is
// counted, but only the first two times in a row.
func (b *Board) Unanswered(claim Claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unanswered == nil {
		b.unanswered = map[grantID]unanswered{}
	}
	b.unanswered[grantID{claim.Worker, claim.Nonce}] = unanswered{claim, time.Now()}
}

// endUnanswered releases the claims of Unanswered.
func (b *Board) endUnanswered(ctx context.Context) {
	b.mu.Lock()
	list := maps.Clone(b.unanswered)
	b.mu.Unlock()
	for id, u := range list {
		if time.Since(u.at) < b.o.Unanswered {
			continue
		}
		err := b.releaseUndelivered(ctx, Actor{Principal: boardActor}, u.claim, maxUnanswered)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return // the database is away; the next try is in a second
		}
		b.mu.Lock()
		delete(b.unanswered, id)
		b.mu.Unlock()
	}
}
