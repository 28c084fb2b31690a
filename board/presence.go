package board

import (
	"context"
	"errors"
	"time"
)

// AbsentAfter is how long a worker may be silent before its process alone does not keep its claim.
const AbsentAfter = 2 * time.Hour

// Renew is a sign of life of an owner: a process or a key. It restores the full lease of
// the owner's claims, also on reviews, that have less than half of it left, and returns all
// its claims. It also revives those that a sweep has ended within the last lease, if nobody
// else was given the task.
// called is set if the owner's agents have made a call since the last Renew, also one that
// only reads: then all leases become whole, give or take a minute. Of an owner with several
// claims it is not known which of them such a call is for: one whose worker no call has named for
// AbsentAfter is not renewed.
func (b *Board) Renew(ctx context.Context, owner string, called bool) ([]Claim, error) {
	if owner == "" {
		return nil, nil // an empty filter would match all claims
	}
	var held []Claim
	var lapsed []Handle
	var now time.Time
	err := b.store.Read(ctx, func(r Reader) (err error) {
		if now, err = r.Now(); err != nil {
			return err
		}
		if lapsed, err = r.Lapsed(owner); err != nil {
			return err
		}
		held, err = claimsAndReviews(r, ClaimFilter{Owner: owner})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, h := range lapsed {
		claim, err := b.takeBack(ctx, owner, h, called && len(held) == 0)
		if err != nil {
			return held, err
		}
		if claim != nil {
			held = append(held, *claim)
		}
	}
	alone := len(held) == 1
	for _, claim := range held {
		if !alone && now.Sub(claim.LastCall) > AbsentAfter && !claim.LastCall.IsZero() {
			continue
		}
		if called && alone && now.Sub(claim.LastCall) >= seenEvery {
			if err := b.store.Write(ctx, func(tx Tx) error { return tx.Seen(claim.Worker) }); err != nil {
				return held, err
			}
		}
		if claim.LeaseUntil.Sub(now) >= claim.Lease/2 && (!called || isWhole(claim, now)) {
			continue
		}
		renew := b.renew
		if claim.IsReview() {
			renew = b.renewReview
		}
		if err := renew(ctx, claim); err != nil {
			return held, err
		}
	}
	return held, nil
}

// takeBack revives an expired claim of an owner. It returns nil if that is not possible, if the
// claim ended more than a lease ago, since the owner may have begun something else, or if its
// worker is absent; called is set if it has made a call.
func (b *Board) takeBack(ctx context.Context, owner string, h Handle, called bool) (claim *Claim, err error) {
	var ended Attempt
	var absent bool
	err = b.store.Read(ctx, func(r Reader) error {
		d, err := r.Dossier(h.Task, 0)
		if err != nil || len(d.Attempts) == 0 {
			return err
		}
		ended = d.Attempts[len(d.Attempts)-1]
		w, err := r.Worker(ended.Worker)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		absent = err == nil && !called && d.Now.Sub(w.LastSeen) > AbsentAfter
		return err
	})
	if err != nil || ended.Handle != h || absent {
		return nil, err
	}
	err = b.change(ctx, Actor{Principal: ended.Worker.Principal, Owner: owner, Worker: ended.Worker.Name}, func(c *change) error {
		claim = nil
		if err := c.lock(h.Task); err != nil {
			return err
		}
		held, err := c.revive(h)
		if err != nil || held == nil {
			return err
		}
		if c.now.Sub(ended.EndedAt) > held.claim.Lease {
			return errNothing
		}
		claim = held.claim
		return nil
	})
	if errors.Is(err, errNothing) || errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrDenied) {
		return nil, nil
	}
	return claim, err
}

func (b *Board) renew(ctx context.Context, claim Claim) error {
	if renewed, err := b.store.Renew(ctx, claim.Handle); err != nil || renewed {
		return err
	}
	// It has expired. Revive it, unless a sweep has ended it.
	return b.change(ctx, Actor{Principal: claim.Worker.Principal, Owner: claim.Owner, Worker: claim.Worker.Name}, func(c *change) error {
		if err := c.lockHeld(claim.Handle); err != nil {
			return err
		}
		held, err := c.inForce(claim.Handle)
		if errors.Is(err, ErrLeaseLost) {
			return nil
		}
		if err != nil || !c.extend(held) {
			return err
		}
		return c.tx.UpdateClaim(*held.claim)
	})
}

// Leave reports that the process of an owner has ended. The leases of its claims are
// shortened to Options.Parting, and its workers' names become free, so that the workers
// can continue from another process.
func (b *Board) Leave(ctx context.Context, owner string) error {
	if owner == "" {
		return nil
	}
	return b.upkeep(ctx, func(tx Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		held, err := claimsAndReviews(tx, ClaimFilter{Owner: owner})
		if err != nil {
			return err
		}
		for _, claim := range held {
			parting := now.Add(b.o.Parting)
			if !claim.IsReview() { // a call that is running is not overtaken
				busy, err := tx.Busy(claim.Task)
				if err != nil {
					return err
				}
				if until := busy.Add(admitSlack); !busy.IsZero() && until.After(parting) {
					parting = until
				}
			}
			if claim.LeaseUntil.After(parting) {
				claim.LeaseUntil = parting
				if err := updateHeld(tx, claim); err != nil {
					return err
				}
			}
		}
		return tx.Disown(owner)
	})
}
