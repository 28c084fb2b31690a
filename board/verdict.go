package board

import (
	"context"
	"time"
)

// Dependents says what becomes of the tasks that depend on a cancelled one.
type Dependents string

const (
	DependentsKeep    Dependents = "keep" // they stay blocked
	DependentsUnblock Dependents = "unblock"
	DependentsCancel  Dependents = "cancel"
)

// Cancel ends a task that is no longer wanted. A worker that holds it is told with
// its next call. It gives all the tasks that were cancelled.
func (b *Board) Cancel(ctx context.Context, a Actor, id ID, reason string, deps Dependents) ([]ID, error) {
	if err := checkTexts(text{"reason", reason, maxText}); err != nil {
		return nil, err
	}
	switch deps {
	case "":
		deps = DependentsKeep
	case DependentsKeep, DependentsUnblock, DependentsCancel:
	default:
		return nil, invalid("the dependents' fate %.20q is none of keep, unblock, cancel", deps)
	}
	var cancelled []ID
	err := b.change(ctx, a, func(c *change) error {
		cancelled = nil
		queue := []ID{id}
		for len(queue) > 0 {
			next := queue[0]
			queue = queue[1:]
			t, dependents, err := c.lockFamily(next)
			if err != nil {
				return err
			}
			if t.Status.Terminal() {
				if next == id {
					return conflict("%v is %s already", id, t.Status)
				}
				continue
			}
			if err := c.cancel(t, dependents, reason, deps); err != nil {
				return err
			}
			cancelled = append(cancelled, next)
			if len(cancelled) > 1000 {
				return conflict("more than 1,000 tasks depend on %v: cancel them in parts", id)
			}
			if deps == DependentsCancel {
				queue = append(queue, dependents...)
			}
		}
		return nil
	})
	return cancelled, err
}

func (c *change) cancel(t *Task, dependents []ID, reason string, deps Dependents) error {
	if t.Status == InProgress {
		if reason == "" {
			return invalid("%v is being worked on: say why it is cancelled", t.ID)
		}
		held, err := c.seize(t)
		if err != nil {
			return err
		}
		if err := c.end(held, CauseCancelled, reason); err != nil {
			return err
		}
	}
	if deps == DependentsUnblock {
		for _, id := range dependents {
			dep := c.tasks[id]
			if dep.Status.Terminal() {
				continue
			}
			if err := c.tx.Unlink(id, t.ID); err != nil {
				return err
			}
			dep.OpenBlockers--
			c.event(dep, EventUnblocked, dep.Status, Detail{Text: t.ID.String()})
			if _, err := c.free(dep); err != nil {
				return err
			}
		}
	}
	_, err := c.finish(t, nil, Cancelled, EventCancelled, Detail{Attempt: t.Attempt, Text: reason})
	return err
}

// A Verdict is what a review ends with.
type Verdict string

const (
	Accept Verdict = "accept"
	Reject Verdict = "reject"
	// Retry gives a failed task a new budget of attempts.
	Retry Verdict = "retry"
)

// Review accepts or rejects a reported task, or gives a failed one another chance.
// Who held the task cannot.
func (b *Board) Review(ctx context.Context, a Actor, id ID, v Verdict, note string) (Outcome, error) {
	if err := checkTexts(text{"note", note, maxText}); err != nil {
		return Outcome{}, err
	}
	switch {
	case v != Accept && v != Reject && v != Retry:
		return Outcome{}, invalid("the verdict %.20q is none of accept, reject, retry", v)
	case v == Reject && note == "":
		return Outcome{}, invalid("a rejection needs a note: the next attempt is told what was wrong")
	}
	var out Outcome
	err := b.change(ctx, a, func(c *change) error {
		t, dependents, err := c.lockFamily(id)
		if err != nil {
			return err
		}
		if err := c.notHolder(id, "review it"); err != nil {
			return err
		}
		want := InReview
		if v == Retry {
			want = Failed
		}
		if t.Status != want {
			return conflict("%v is %s, and only a task in %s can be given %q", id, t.Status, want, v)
		}
		out = Outcome{Task: id}
		from := t.Status
		detail := Detail{Attempt: t.Attempt, Text: note}
		switch v {
		case Accept:
			if out.Freed, err = c.finish(t, dependents, Done, EventAccepted, detail); err != nil {
				return err
			}
		case Reject:
			c.fail(t)
			c.event(t, EventRejected, from, detail)
		case Retry:
			t.Status, t.Failures, t.NotBefore = Pending, 0, time.Time{}
			c.event(t, EventRetried, from, detail)
		}
		out.Status, out.Failures, out.MaxFailures = t.Status, t.Failures, t.MaxFailures
		return nil
	})
	return out, err
}

// Release takes a task from its holder and gives it back to the board, and ends a
// cool-down or a reservation. No failure is counted.
func (b *Board) Release(ctx context.Context, a Actor, id ID, reason string) (Task, error) {
	var t *Task
	err := b.change(ctx, a, func(c *change) error {
		if err := c.lock(id); err != nil {
			return err
		}
		t = c.tasks[id]
		return c.release(t, CauseReleased, reason)
	})
	if err != nil {
		return Task{}, err
	}
	return *t, nil
}

func (c *change) release(t *Task, cause Cause, reason string) error {
	from := t.Status
	switch {
	case t.Status == InProgress:
		held, err := c.seize(t)
		if err != nil {
			return err
		}
		if err := c.end(held, cause, reason); err != nil {
			return err
		}
		t.Status = Pending
	case t.Status == Pending && !t.NotBefore.IsZero():
	default:
		return conflict("%v is %s and held by nobody", t.ID, t.Status)
	}
	t.NotBefore = time.Time{}
	t.ReservedFor = WorkerID{}
	c.event(t, EventReleased, from, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Text: reason, Cause: cause})
	return nil
}
