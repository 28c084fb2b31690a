package board

import (
	"context"
	"slices"
	"time"
)

// Dismiss releases the tasks and reviews that the workers of principals hold, because their credentials are no
// longer valid, and returns the tasks. No failure is counted. Tasks that are reserved for
// these workers become ready with the next sweep.
func (b *Board) Dismiss(ctx context.Context, a Actor, reason string, principals ...string) ([]ID, error) {
	if len(principals) == 0 {
		return nil, nil
	}
	var held []Claim
	owners := slices.Clone(principals)
	err := b.store.Read(ctx, func(r Reader) error {
		for _, p := range principals {
			claims, err := claimsAndReviews(r, ClaimFilter{Principal: p})
			if err != nil {
				return err
			}
			held = append(held, claims...)
		}
		now, err := r.Now()
		if err != nil {
			return err
		}
		if owners, err = landersOf(r, principals, owners); err != nil {
			return err
		}
		workers, err := r.Workers(now.Add(-24 * time.Hour))
		for _, w := range workers {
			if slices.Contains(principals, w.Principal) && !slices.Contains(owners, w.Owner) && w.Owner != "" {
				owners = append(owners, w.Owner)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var released []ID
	for _, claim := range held {
		freed := false
		err := b.change(ctx, a, func(c *change) error {
			freed = false
			if err := c.lock(claim.Task); err != nil {
				return err
			}
			if claim.IsReview() {
				ended, err := c.endReview(claim, CauseReleased, reason)
				freed = ended
				return err
			}
			t := c.tasks[claim.Task]
			if t.Status != InProgress || t.handle() != claim.Handle {
				return nil // it has just ended
			}
			freed = true
			return c.release(t, CauseReleased, reason)
		})
		if err != nil {
			return released, err
		}
		if freed {
			released = append(released, claim.Task)
		}
	}
	return released, b.upkeep(ctx, func(tx Tx) error {
		for _, owner := range owners {
			if err := tx.Disown(owner); err != nil {
				return err
			}
		}
		return nil
	})
}

// landersOf adds the owners of the landers with some principals, whose leases end with them.
func landersOf(r Reader, principals, owners []string) ([]string, error) {
	projects, err := r.Projects()
	for _, p := range projects {
		if p.Land == "" || err != nil {
			continue
		}
		var l Lander
		if l, err = r.Lander(p.Slug, p.Land); err == nil && slices.Contains(principals, l.Principal) && !slices.Contains(owners, l.Owner) && l.Owner != "" {
			owners = append(owners, l.Owner)
		}
	}
	return owners, err
}
