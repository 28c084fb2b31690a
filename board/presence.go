package board

import (
	"context"
	"errors"
	"time"
)

// Renew is a sign of life of an owner: a process or a key. It restores the full lease of
// the owner's claims, also on reviews, that have less than half of it left, and returns all
// its claims.
// called is set if the owner's agents have made a call since the last Renew, also one that
// only reads: then all leases become whole, give or take a minute.
func (b *Board) Renew(ctx context.Context, owner string, called bool) ([]Claim, error) {
	if owner == "" {
		return nil, nil // an empty filter would match all claims
	}
	var held []Claim
	var now time.Time
	err := b.store.Read(ctx, func(r Reader) (err error) {
		if now, err = r.Now(); err != nil {
			return err
		}
		held, err = claimsAndReviews(r, ClaimFilter{Owner: owner})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, claim := range held {
		if called && now.Sub(claim.LastCall) >= seenEvery {
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

func (b *Board) renew(ctx context.Context, claim Claim) error {
	return b.change(ctx, Actor{Principal: claim.Worker.Principal, Owner: claim.Owner, Worker: claim.Worker.Name}, func(c *change) error {
		renewed, err := c.tx.Renew(claim.Handle)
		if err != nil || renewed {
			return err
		}
		// It has expired. Revive it, unless a sweep has ended it.
		if err := c.lock(claim.Task); err != nil {
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
			if parting := now.Add(b.o.Parting); claim.LeaseUntil.After(parting) {
				claim.LeaseUntil = parting
				if err := updateHeld(tx, claim); err != nil {
					return err
				}
			}
		}
		return tx.Disown(owner)
	})
}
