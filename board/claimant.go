package board

import (
	"context"
)

// identify determines which worker calls, and what it has. The new name of a worker that
// takes any task is not looked up: a new worker has nothing, and Claim grants nothing to
// a new name that is taken, or on a connection that was stopped.
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

// claimant determines which worker calls, and what it has. A worker without a name gets a
// new one; the name of a worker that belongs to another live process is a *HeldError.
func (b *Board) claimant(r Reader, a Actor, w Wish) (Claimant, Standing, error) {
	if w.Worker == "" {
		if err := checkConnection(r, a); err != nil {
			return Claimant{}, Standing{}, err
		}
		for {
			c := newClaimant(a, w)
			taken, err := r.Worker(c.Worker)
			if err != nil || taken.IsZero() {
				return c, Standing{}, err
			}
		}
	}
	c := Claimant{Worker: WorkerID{Principal: a.Principal, Name: w.Worker}, Owner: a.Owner, Session: w.Session, Where: w.Where, Nonce: NewNonce(), OneWorker: a.OneWorker}
	st, err := r.Standing(c.Worker)
	if err != nil {
		return c, st, err
	}
	if st.Worker.IsZero() {
		return c, st, invalid("there is no worker %.60q: the board gives workers their names", w.Worker)
	}
	if st.Worker.StoppedBy != "" {
		return c, st, &StoppedError{Worker: st.Worker}
	}
	held := st.Held()
	if held == nil {
		if err := checkConnection(r, a); err != nil {
			return c, st, err
		}
	}
	if st.Worker.Owner == "" || st.Worker.Owner == a.Owner {
		return c, st, nil
	}
	now, err := r.Now()
	if err != nil {
		return c, st, err
	}
	until := st.Worker.LastSeen.Add(b.o.Lease)
	if held != nil && held.LeaseUntil.After(until) {
		until = held.LeaseUntil
	}
	if now.Before(until) {
		return c, st, &HeldError{Worker: st.Worker, Left: until.Sub(now)}
	}
	return c, st, nil
}

// newClaimant returns a worker with a new random name.
func newClaimant(a Actor, w Wish) Claimant {
	return Claimant{
		Worker: WorkerID{Principal: a.Principal, Name: newWorkerName()}, New: true,
		Owner: a.Owner, Session: w.Session, Where: w.Where, Nonce: NewNonce(), OneWorker: a.OneWorker,
	}
}

// nameTaken reports whether a worker with that name exists.
func (b *Board) nameTaken(ctx context.Context, id WorkerID) (bool, error) {
	var w Worker
	err := b.store.Read(ctx, func(r Reader) (err error) {
		w, err = r.Worker(id)
		return err
	})
	return !w.IsZero(), err
}
