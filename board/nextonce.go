package board

import (
	"context"
	"errors"
)

// errHeld ends the transaction of nextOnce if the worker already holds a task, which is
// then delivered again in another transaction.
var errHeld = errors.New("board: the worker holds a task")

// nextOnce is look for a call with an idempotency key: it writes the key and the claim in
// one transaction. A call that finds no task does not use up its key.
func (b *Board) nextOnce(ctx context.Context, a Actor, w Wish) (*Handout, error) {
	body := w
	body.Where, body.Wait, body.Key, body.Apart = Where{}, 0, "", false
	for {
		var d delivery
		var held Claim
		var who Claimant
		err := b.change(ctx, a, func(c *change) error {
			k, kept, replays, err := c.once("get_next_task", w.Key, body, Ahead{})
			if err != nil {
				return err
			}
			if replays {
				d, err = c.replay(kept, w)
				return err
			}
			var st Standing
			if who, st, err = b.claimant(c.tx, a, w); err != nil {
				return err
			}
			from := sources{
				held: func(claim Claim) (delivery, error) {
					held = claim
					return delivery{}, errHeld
				},
				task:       func(id ID) (delivery, error) { return c.grantTask(w, id, who) },
				reviewable: func() (Reviewable, error) { return b.reviewable(c.tx, w, who) },
				review:     func(id ID) (delivery, error) { return c.grantReview(w, id, who) },
				queue:      func() (delivery, error) { return only(c.tx.Claim(b.want(w, who))) },
			}
			if d, err = from.first(w, st); err != nil {
				return err
			}
			return c.keep(k, d.claim.Handle.String())
		})
		if errors.Is(err, errHeld) {
			d, err = b.redeliver(ctx, a, held, who)
			if errors.Is(err, errNothing) {
				continue // it has just ended
			}
			if err == nil {
				err = b.change(ctx, a, func(c *change) error {
					k, _, replays, err := c.once("get_next_task", w.Key, body, Ahead{})
					if err != nil || replays {
						return err
					}
					return c.keep(k, held.Handle.String())
				})
			}
		}
		if err != nil {
			return nil, err
		}
		return b.handout(ctx, d)
	}
}

// replay delivers the claim that was stored with a key again.
func (c *change) replay(kept string, w Wish) (delivery, error) {
	h, err := ParseHandle(kept)
	if err != nil {
		return delivery{}, err
	}
	if err := c.lock(h.Task); err != nil {
		return delivery{}, err
	}
	if h.IsReview() {
		return c.replayReview(h, w)
	}
	held, err := c.inForce(h)
	if err != nil {
		return delivery{}, err
	}
	delivered, err := c.redeliver(held, Claimant{Worker: held.attempt.Worker, Owner: c.actor.Owner, Session: w.Session, Where: w.Where})
	if err == nil && !delivered {
		c.refused = c.lost(h, &held.attempt)
	}
	return delivery{claim: *held.claim, again: true}, err
}

// replayReview is replay for a claim on a review.
func (c *change) replayReview(h Handle, w Wish) (delivery, error) {
	live, err := c.liveReview(h.Task)
	if err != nil {
		return delivery{}, err
	}
	if live == nil || live.Handle != h || live.Worker.Principal != c.actor.Principal {
		return delivery{}, conflict("the review %v has ended", h)
	}
	delivered, err := c.redeliverReview(live, Claimant{Worker: live.Worker, Owner: c.actor.Owner, Session: w.Session})
	if err == nil && !delivered {
		c.refused = conflict("the review %v has ended", h)
	}
	return delivery{claim: *live, again: true}, err
}
