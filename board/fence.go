package board

import (
	"cmp"
	"errors"
	"time"
)

// A holding is a claim that is in force, with its locked task.
type holding struct {
	task    *Task
	attempt Attempt
	// claim is nil for a late report: the lease had expired, or the program had left, and
	// the report is accepted nevertheless.
	claim *Claim
}

// holder is inForce for a call that is a sign of work. It renews the claim, and revives
// one that has expired, also after the sweep if nobody else was given the task.
func (c *change) holder(h Handle) (*holding, error) {
	if held, err := c.revive(h); err != nil || held != nil {
		return held, err
	}
	held, err := c.inForce(h)
	if err != nil {
		return nil, err
	}
	if err := c.seen(held.claim); err != nil {
		return nil, err
	}
	if !c.extend(held) && held.claim.Deliveries == 0 {
		return held, nil
	}
	held.claim.Deliveries = 0
	return held, c.tx.UpdateClaim(*held.claim)
}

// seenEvery is how often it is written that a worker has called.
const seenEvery = time.Minute

// seen records that the worker of a claim has called.
func (c *change) seen(claim *Claim) error {
	if c.now.Sub(claim.LastCall) < seenEvery {
		return nil
	}
	claim.LastCall = c.now
	return c.tx.Seen(claim.Worker)
}

// inForce checks that h is the newest grant of its task, which is locked, and has not
// ended. Otherwise the error is a *LostError.
func (c *change) inForce(h Handle) (*holding, error) {
	t := c.tasks[h.Task]
	a, err := c.attempt(h)
	if err != nil {
		return nil, err
	}
	if a.Cause != "" || t.Status != InProgress || t.Attempt != h.Attempt || t.Nonce != h.Nonce {
		return nil, c.lost(h, &a)
	}
	claim, err := c.tx.LiveClaim(h.Task)
	if err != nil {
		return nil, err
	}
	return &holding{task: t, attempt: a, claim: &claim}, nil
}

// reporter is holder for a report of done, which is also accepted after the sweep, and
// after GiveBack, as long as the task was not granted again, its spec has not changed and the
// worker was not stopped.
func (c *change) reporter(h Handle) (*holding, error) {
	t := c.tasks[h.Task]
	a, err := c.attempt(h)
	if err != nil {
		return nil, err
	}
	if (a.Cause == CauseExpired || a.Cause == CauseLeft) && t.Attempt == h.Attempt && t.Nonce == h.Nonce &&
		(t.Status == Pending || t.Status == Failed) && a.SpecVersion == t.SpecVersion {
		w, err := c.tx.Worker(a.Worker)
		if err != nil {
			return nil, err
		}
		if w.StoppedBy != "" {
			return nil, c.lost(h, &a)
		}
		return &holding{task: t, attempt: a}, nil
	}
	return c.holder(h)
}

// attempt reads the attempt that h names; ErrDenied if it is another principal's.
func (c *change) attempt(h Handle) (Attempt, error) {
	if h.IsReview() {
		return Attempt{}, invalid("%v is the claim on a review: it ends with a verdict, and takes no reports", h)
	}
	a, err := c.tx.Attempt(h.Task, h.Attempt)
	if errors.Is(err, ErrNotFound) || err == nil && a.Nonce != h.Nonce {
		return Attempt{}, c.lost(h, nil)
	}
	if err != nil {
		return Attempt{}, err
	}
	if a.Worker.Principal != c.actor.Principal {
		return Attempt{}, denied("claim %v belongs to another worker", h)
	}
	c.actor.Worker = a.Worker.Name // whatever the caller says: what is done under a claim, its worker does
	if a.acted(c.actor.Owner) {
		err = c.tx.UpdateAttempt(a)
	}
	return a, err
}

// isWhole reports whether a call need not renew a claim: at most a minute of its lease is
// gone, or half of a short one.
func isWhole(claim Claim, now time.Time) bool {
	return claim.Lease-claim.LeaseUntil.Sub(now) <= min(seenEvery, claim.Lease/2)
}

// extend restores the full lease of a claim unless it is whole, and reports whether it did.
func (c *change) extend(h *holding) bool {
	t, claim := h.task, h.claim
	left := claim.LeaseUntil.Sub(c.now)
	if isWhole(*claim, c.now) {
		return false
	}
	if left <= 0 {
		c.event(t, EventRevived, t.Status, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Worker: claim.Worker.Name})
	}
	claim.LeaseUntil = c.now.Add(claim.Lease)
	return true
}

// revive gives the task back to the holder of a claim that a sweep has ended, and takes the
// failure back. It returns nil if the claim did not expire, somebody else was given the task,
// the task cannot be worked on now, or the worker cannot have it, because it was stopped,
// holds something else or continues in another process. The claim belongs to the caller's
// process from then on: the one before gave no sign of life.
func (c *change) revive(h Handle) (*holding, error) {
	t := c.tasks[h.Task]
	if t.Attempt != h.Attempt || t.Nonce != h.Nonce || t.Status != Pending && t.Status != Failed ||
		t.Hold || t.OpenBlockers > 0 || t.OpenChildren > 0 {
		return nil, nil
	}
	a, err := c.attempt(h)
	if err != nil || a.Cause != CauseExpired || !t.ReservedFor.IsZero() && t.ReservedFor != a.Worker {
		return nil, err
	}
	st, err := c.tx.Standing(a.Worker)
	if err != nil || st.Held() != nil || st.Worker.StoppedBy != "" ||
		st.Worker.Owner != "" && st.Worker.Owner != a.Owner && st.Worker.Owner != c.actor.Owner {
		return nil, err
	}
	a.own(cmp.Or(c.actor.Owner, a.Owner))
	p, err := c.tx.Project(t.ID.Project)
	if err != nil || p.Archived {
		return nil, err
	}
	claim := Claim{Handle: h, Worker: a.Worker, Owner: a.Owner, GrantedAt: a.GrantedAt, Where: a.Where, LastCall: c.now}
	claim.Lease = cmp.Or(t.Lease, p.Lease, c.b.lease(claim.InDir()))
	claim.LeaseUntil = c.now.Add(claim.Lease)
	if err := c.tx.InsertClaim(claim, t.Areas); err != nil {
		return nil, err
	}
	st.Worker.WorkerID, st.Worker.Owner, st.Worker.LastSeen = a.Worker, a.Owner, c.now
	if err := c.tx.PutWorker(st.Worker); err != nil {
		return nil, err
	}
	if err := c.setAskers(h, a.Owner); err != nil {
		return nil, err
	}
	from := t.Status
	t.Status, t.Failures = InProgress, max(0, t.Failures-1)
	t.NotBefore, t.ReservedFor = time.Time{}, WorkerID{}
	c.event(t, EventRevived, from, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Worker: a.Worker.Name})
	a.EndedAt, a.Cause, a.Reason = time.Time{}, "", ""
	return &holding{task: t, attempt: a, claim: &claim}, c.tx.UpdateAttempt(a)
}

// lost returns the *LostError for a claim that is not in force.
func (c *change) lost(h Handle, a *Attempt) error {
	holder, err := c.liveClaim(h.Task)
	if err != nil {
		return err
	}
	return &LostError{Claim: h, Task: *c.tasks[h.Task], Holder: holder, Ended: a}
}

// keepNote keeps the text of a caller that has lost its claim as a note. The transaction
// commits, and the caller gets err nevertheless.
func (c *change) keepNote(h Handle, err error, text string) error {
	lost, ok := errors.AsType[*LostError](err)
	if !ok || lost.Ended == nil { // a claim that never was says nothing about the task
		return err
	}
	t := c.tasks[h.Task]
	c.event(t, EventNote, t.Status, Detail{Attempt: h.Attempt, Nonce: h.Nonce, Worker: c.actor.Worker, Text: text, Late: true})
	lost.Kept = true
	c.refused = lost
	return nil
}

// end ends the attempt of a holding and deletes its claim, if it still has one.
func (c *change) end(h *holding, cause Cause, reason string) error {
	if h.claim != nil {
		if err := c.tx.DeleteClaim(h.task.ID); err != nil {
			return err
		}
		if err := c.clock(); err != nil { // no call began later
			return err
		}
	}
	h.attempt.EndedAt = c.now
	h.attempt.Cause = cause
	h.attempt.Reason = reason
	switch cause {
	case CauseDone, CauseParked, CauseCancelled, CauseClosed: // whose questions are closed, or waited for
	default:
		if err := c.setAskers(h.attempt.Handle, ""); err != nil {
			return err
		}
	}
	c.told.ended = append(c.told.ended, endedAttempt{cause, c.now.Sub(h.attempt.GrantedAt)})
	return c.tx.UpdateAttempt(h.attempt)
}

// seize returns the holding of a locked task in progress to a caller that is not the
// holder, such as the sweep or a person.
func (c *change) seize(t *Task) (*holding, error) {
	claim, err := c.tx.LiveClaim(t.ID)
	if err != nil {
		return nil, err
	}
	a, err := c.tx.Attempt(t.ID, t.Attempt)
	if err != nil {
		return nil, err
	}
	return &holding{task: t, attempt: a, claim: &claim}, nil
}

// fail counts a failure, and makes the task pending, or failed if the budget is used up.
func (c *change) fail(t *Task) {
	t.Failures++
	if t.Failures >= t.MaxFailures {
		t.Status = Failed
	} else {
		t.Status = Pending
	}
}

// notHolder denies an action to a caller that held any attempt of a task, or acted under its
// claim: nobody reviews their own work. In an agent's shell, and for a program's key, that is every caller whose
// principal held one. What was done with commands in a shell may be the work of any agent of
// the principal.
func (c *change) notHolder(id ID, what string) error {
	who := Claimant{Owner: c.actor.Owner}
	if !c.actor.Person {
		who.Worker = WorkerID{Principal: c.actor.Principal, Name: c.actor.Worker}
	}
	held, err := c.tx.Held(id, who)
	if err != nil {
		return err
	}
	if held {
		if a, err := c.tx.Attempt(id, c.tasks[id].Attempt); err == nil && inDir(a.Owner) && a.Owner != c.actor.Owner {
			return denied("%v was worked on with commands in a shell, perhaps by this agent: it cannot %s. A person can, and so can an agent with a key of its own", id, what)
		}
		return denied("a worker that held %v cannot %s", id, what)
	}
	if !c.actor.Shell && !c.actor.OneWorker {
		return nil
	}
	who.OneWorker = true
	switch held, err := c.tx.Held(id, who); {
	case err != nil:
		return err
	case held && c.actor.Shell:
		return denied("this process was started in an agent's shell, and that agent may have worked on %v: it cannot %s. "+
			"A person can, and so can an agent in a client of its own that a person started", id, what)
	case held:
		return denied("a worker with this key held %v, so no worker with this key can %s. A person can, and so can a worker with another key", id, what)
	}
	return nil
}

// cooldown returns how long a task cools down after an environment failure, the
// failures-th of the task.
func cooldown(failures int) time.Duration {
	return min(time.Minute<<min(failures, 10), time.Hour)
}
