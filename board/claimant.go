package board

import (
	"context"
)

// identify finds out which worker calls, and what it has. The new name of a worker that
// takes any task is not looked up: it has nothing, and the store refuses a name that
// is taken.
func (b *Board) identify(ctx context.Context, a Actor, w Wish) (who Claimant, st Standing, err error) {
	if w.Worker == "" && w.Task.IsZero() {
		return newClaimant(a, w), Standing{}, nil
	}
	err = b.store.Read(ctx, func(r Reader) error {
		who, st, err = b.claimant(r, a, w)
		return err
	})
	return who, st, err
}

// claimant settles who the worker is, and what it has.
func (b *Board) claimant(r Reader, a Actor, w Wish) (Claimant, Standing, error) {
	if w.Worker == "" {
		for {
			c := newClaimant(a, w)
			st, err := r.Standing(c.Worker)
			if err != nil || st.Worker.IsZero() {
				return c, Standing{}, err
			}
		}
	}
	c := Claimant{Worker: WorkerID{Principal: a.Principal, Name: w.Worker}, Owner: a.Owner, Session: w.Session, Where: w.Where}
	st, err := r.Standing(c.Worker)
	if err != nil {
		return c, st, err
	}
	if st.Worker.IsZero() {
		return c, st, invalid("there is no worker %.60q: call without a worker to get a name", w.Worker)
	}
	if st.Worker.StoppedBy != "" {
		return c, st, &StoppedError{Worker: st.Worker}
	}
	if st.Worker.Owner == "" || st.Worker.Owner == a.Owner {
		return c, st, nil
	}
	now, err := r.Now()
	if err != nil {
		return c, st, err
	}
	until := st.Worker.LastSeen.Add(b.o.Lease)
	if st.Claim != nil && st.Claim.LeaseUntil.After(until) {
		until = st.Claim.LeaseUntil
	}
	if now.Before(until) {
		return c, st, &HeldError{Worker: st.Worker, Left: until.Sub(now)}
	}
	return c, st, nil
}

// newClaimant draws a name for a worker.
func newClaimant(a Actor, w Wish) Claimant {
	return Claimant{
		Worker: WorkerID{Principal: a.Principal, Name: newWorkerName()}, New: true,
		Owner: a.Owner, Session: w.Session, Where: w.Where,
	}
}

// nameTaken reports whether there is a worker of that name.
func (b *Board) nameTaken(ctx context.Context, id WorkerID) (bool, error) {
	var st Standing
	err := b.store.Read(ctx, func(r Reader) (err error) {
		st, err = r.Standing(id)
		return err
	})
	return !st.Worker.IsZero(), err
}
