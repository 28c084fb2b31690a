package board

import (
	"errors"
	"time"
)

// A holding is a claim that was found to be in force, with the task locked.
type holding struct {
	task    *Task
	attempt Attempt
	// claim is nil for a report that came after the lease had run out and is taken
	// all the same.
	claim *Claim
}

// holder is inForce for a call that is a sign of work: the claim is renewed by it,
// and one that ran out but was not swept yet is revived.
func (c *change) holder(h Handle) (*holding, error) {
	held, err := c.inForce(h)
	if err != nil {
		return nil, err
	}
	if !c.prolong(held) && held.claim.Deliveries == 0 {
		return held, nil
	}
	held.claim.Deliveries = 0
	return held, c.tx.UpdateClaim(*held.claim)
}

// inForce checks that h is the newest grant of its task, which is locked, and was
// not ended. Otherwise the error is a *LostError.
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

// reporter is holder for a report of done, which is also taken after the sweep, as
// long as nobody else was given the task and its text is still what it was.
func (c *change) reporter(h Handle) (*holding, error) {
	t := c.tasks[h.Task]
	a, err := c.attempt(h)
	if err != nil {
		return nil, err
	}
	if a.Cause == CauseExpired && t.Attempt == h.Attempt && t.Nonce == h.Nonce &&
		(t.Status == Pending || t.Status == Failed) && a.SpecVersion == t.SpecVersion {
		return &holding{task: t, attempt: a}, nil
	}
	return c.holder(h)
}

// attempt reads the attempt that h names, if it is the caller's.
func (c *change) attempt(h Handle) (Attempt, error) {
	a, err := c.tx.Attempt(h.Task, h.Attempt)
	if errors.Is(err, ErrNotFound) || err == nil && a.Nonce != h.Nonce {
		return Attempt{}, c.lost(h, nil)
	}
	if err != nil {
		return Attempt{}, err
	}
	if a.Worker.Principal != c.actor.Principal {
		return Attempt{}, denied("the claim %v is somebody else's", h)
	}
	if c.actor.Worker == "" {
		// A process that was started again knows the claim, but not the name.
		c.actor.Worker = a.Worker.Name
	}
	return a, nil
}

// prolong gives a claim its full lease again when less than half is left, and
// reports whether it did.
func (c *change) prolong(h *holding) bool {
	t, claim := h.task, h.claim
	left := claim.LeaseUntil.Sub(c.now)
	if left >= claim.Lease/2 {
		return false
	}
	if left <= 0 {
		c.event(t, EventRevived, t.Status, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Worker: claim.Worker.Name})
	}
	claim.LeaseUntil = c.now.Add(claim.Lease)
	return true
}

// lost describes why a claim is not in force.
func (c *change) lost(h Handle, a *Attempt) error {
	holder, err := c.liveClaim(h.Task)
	if err != nil {
		return err
	}
	return &LostError{Claim: h, Task: *c.tasks[h.Task], Holder: holder, Ended: a}
}

// keepNote keeps what a caller without a claim had to say, and lets the
// transaction commit although the caller gets err.
func (c *change) keepNote(h Handle, err error, text string) error {
	lost, ok := errors.AsType[*LostError](err)
	if !ok {
		return err
	}
	t := c.tasks[h.Task]
	c.event(t, EventNote, t.Status, Detail{Attempt: h.Attempt, Nonce: h.Nonce, Worker: c.actor.Worker, Text: text, Late: true})
	lost.Kept = true
	c.refused = lost
	return nil
}

// end closes the attempt of a holding and removes its claim, if it still has one.
func (c *change) end(h *holding, cause Cause, reason string) error {
	if h.claim != nil {
		if err := c.tx.DeleteClaim(h.task.ID); err != nil {
			return err
		}
	}
	h.attempt.EndedAt = c.now
	h.attempt.Cause = cause
	h.attempt.Reason = reason
	c.told.ended = append(c.told.ended, endedAttempt{cause, c.now.Sub(h.attempt.GrantedAt)})
	return c.tx.UpdateAttempt(h.attempt)
}

// seize gives the holding of a locked task that is in progress to somebody who is
// not its holder: the sweep, or a person.
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

// fail counts a failure and says where the task goes.
func (c *change) fail(t *Task) {
	t.Failures++
	if t.Failures >= t.MaxFailures {
		t.Status = Failed
	} else {
		t.Status = Pending
	}
}

// notHolder refuses whoever held any attempt of a task: nobody judges their own work.
func (c *change) notHolder(id ID, what string) error {
	held, err := c.tx.Held(id, c.actor.Owner)
	if err != nil {
		return err
	}
	if held {
		return denied("whoever worked on %v cannot %s", id, what)
	}
	return nil
}

// cooldown is how long a task rests after its n-th failure for an unfit
// environment.
func cooldown(failures int) time.Duration {
	return min(time.Minute<<min(failures, 10), time.Hour)
}
