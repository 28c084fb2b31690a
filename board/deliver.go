package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// handout reads all that the worker needs to begin.
func (b *Board) handout(ctx context.Context, d delivery) (*Handout, error) {
	dossier, err := b.Get(ctx, d.claim.Task, 50)
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrFull) { // which would mean that nothing has changed
		return nil, fmt.Errorf("%w: %v was granted but cannot be read: %v", ErrUnknown, d.claim.Handle, err)
	}
	if err != nil {
		return nil, err
	}
	es := dossier.Events
	err = b.store.Read(ctx, func(r Reader) error { return dossier.addFirstEvents(r) })
	if err != nil {
		b.o.Logger.Warn("the first events of a task could not be read", "task", d.claim.Task, "err", err) // the claim holds all the same
	}
	if first := len(dossier.Events) - len(es); first > 0 {
		dossier.Events = slices.Insert(dossier.Events, first, b.earlierNotes(ctx, es, first)...)
	}
	h := &Handout{Claim: d.claim, Dossier: dossier, Again: d.again}
	if d.claim.IsReview() { // which changes no files
		return h, nil
	}
	if h.Neighbours, err = b.neighbours(ctx, h); err != nil {
		b.o.Logger.Warn("the neighbours of a claim could not be read", "task", d.claim.Task, "err", err) // the claim holds all the same
	}
	return h, nil
}

// addFirstEvents puts the first two events of the task before the last ones: they say who
// wrote it, and what it builds on.
func (d *Dossier) addFirstEvents(r Reader) error {
	if len(d.Events) == 0 || d.Events[0].Seq == 1 {
		return nil
	}
	first, err := r.Events(d.Task.ID, 0, min(2, int(d.Events[0].Seq-1)))
	d.Events = append(first, d.Events...)
	return err
}

const (
	// handedNotes is how many notes of earlier attempts a hand-out has at least, and
	// searchedNotes how many events before its last ones are searched for them.
	handedNotes   = 3
	searchedNotes = 500
)

// earlierNotes returns what a hand-out needs from before the last events of a task: why its work was rejected or
// returned, and notes, if there are few among the last events. skip is the number of first events that are known already.
func (b *Board) earlierNotes(ctx context.Context, es []Event, skip int) []Event {
	isNote := func(e Event) bool { return e.Kind == EventNote }
	want := handedNotes
	for _, e := range es {
		if isNote(e) {
			want--
		}
	}
	from := max(int64(skip), es[0].Seq-1-searchedNotes)
	n := int(es[0].Seq - 1 - from)
	if n <= 0 {
		return nil
	}
	older, err := b.Events(ctx, es[0].Task, from, n)
	if err != nil {
		b.o.Logger.Warn("the notes on a task could not be read", "task", es[0].Task, "err", err) // the claim holds all the same
	}
	for i, e := range slices.Backward(older) {
		switch {
		case e.Kind == EventRejected || e.Kind == EventReturned:
		case isNote(e) && want > 0:
			want--
		default:
			older = slices.Delete(older, i, i+1)
		}
	}
	return older
}

// deliver is handout for a call without an idempotency key, which cannot be repeated. If
// the caller of a new grant has gone, it releases the task without counting a failure.
func (b *Board) deliver(ctx context.Context, a Actor, d delivery) (*Handout, error) {
	h, err := b.handout(ctx, d)
	if ctx.Err() != nil && !d.again {
		b.undelivered(context.WithoutCancel(ctx), a, d.claim)
		return nil, ctx.Err()
	}
	return h, err
}

// GiveBack ends the claim of a program that ended without doing anything with its task. No
// failure is counted, and the task is pending again. Until it is granted again, its report
// of done is still accepted, from a later run of the program. A review is free again, also for
// the same worker. reason says why; empty if that is not known.
func (b *Board) GiveBack(ctx context.Context, a Actor, h Handle, reason string) error {
	if err := checkTexts(text{"reason", reason, maxText}); err != nil {
		return err
	}
	return b.change(ctx, a, func(c *change) error {
		if h.IsReview() {
			return c.giveBackReview(h, reason)
		}
		if err := c.lockHeld(h); err != nil {
			return err
		}
		held, err := c.inForce(h)
		if err != nil {
			return err
		}
		return c.release(held.task, CauseLeft, cmp.Or(reason, "the program ended without reporting"))
	})
}

// redeliver delivers the claim that a worker holds again; errNothing if the claim has
// just ended.
func (b *Board) redeliver(ctx context.Context, a Actor, held Claim, who Claimant) (delivery, error) {
	ended := false
	a.Worker = who.Worker.Name
	err := b.change(ctx, a, func(c *change) error {
		ended = false
		if held.IsReview() {
			delivered, err := c.redeliverReview(&held, who)
			ended = !delivered
			return err
		}
		if err := c.lockHeld(held.Handle); err != nil {
			return err
		}
		t := c.tasks[held.Task]
		h, err := c.seize(t)
		if errors.Is(err, ErrNotFound) || err == nil && h.claim.Handle != held.Handle {
			ended = true
			return nil
		}
		if err != nil {
			return err
		}
		delivered, err := c.redeliver(h, who)
		ended = !delivered
		return err
	})
	if err == nil && ended {
		err = errNothing
	}
	return delivery{claim: held, again: true}, err
}

// redeliver delivers a claim to its worker again, with a full lease. The sixth time
// without a sign of work in between it ends the attempt instead and returns false.
func (c *change) redeliver(h *holding, who Claimant) (bool, error) {
	t := h.task
	h.claim.Deliveries++
	if h.claim.Deliveries > maxDeliveries {
		from := t.Status
		c.fail(t)
		reason := fmt.Sprintf("restarted %d times without a note or a report", maxDeliveries)
		c.eventBy(boardActor, t, EventFailed, from, Detail{
			Attempt: t.Attempt, Nonce: t.Nonce, Worker: who.Worker.Name, Text: reason, Cause: CauseRestarts,
		})
		return false, c.end(h, CauseRestarts, reason)
	}
	if c.now.After(h.claim.LeaseUntil) {
		c.event(t, EventRevived, t.Status, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Worker: who.Worker.Name})
	}
	h.claim.LeaseUntil = c.now.Add(h.claim.Lease)
	h.claim.Owner = who.Owner
	if who.Session != "" {
		h.claim.Session = who.Session
	}
	c.event(t, EventDelivered, t.Status, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Worker: who.Worker.Name})
	h.attempt.own(who.Owner)
	h.attempt.SpecVersion = t.SpecVersion
	if old := h.attempt.Where; old.Dir == "" || old.Host == who.Where.Host && old.Dir == who.Where.Dir {
		c.saw(h, who.Where) // otherwise the work is still where it was
	}
	if err := c.tx.UpdateAttempt(h.attempt); err != nil {
		return false, err
	}
	if err := c.tx.PutWorker(Worker{WorkerID: who.Worker, Owner: who.Owner, LastSeen: c.now}); err != nil {
		return false, err
	}
	if err := c.setAskers(h.claim.Handle, who.Owner); err != nil {
		return false, err
	}
	return true, c.tx.UpdateClaim(*h.claim)
}
