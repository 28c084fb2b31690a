package board

import (
	"cmp"
	"context"
	"time"
)

// Dependents decides what happens to the tasks that depend on a cancelled task.
type Dependents string

const (
	DependentsKeep    Dependents = "keep" // they stay blocked
	DependentsUnblock Dependents = "unblock"
	DependentsCancel  Dependents = "cancel"
)

// Cancel cancels a task. A worker that holds it learns about it with its next call. Cancel
// returns all the tasks that were cancelled. An agent cannot cancel a task that a person
// wrote, nor one with a question that people have yet to answer.
func (b *Board) Cancel(ctx context.Context, a Actor, id ID, reason string, deps Dependents) ([]ID, error) {
	if err := checkTexts(text{"reason", reason, maxText}); err != nil {
		return nil, err
	}
	switch deps {
	case "":
		deps = DependentsKeep
	case DependentsKeep, DependentsUnblock, DependentsCancel:
	default:
		return nil, invalid("invalid dependents %.20q: want keep, unblock or cancel", deps)
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
					return conflict("%v is already %s", id, t.State())
				}
				continue
			}
			if err := c.cancel(t, dependents, reason, deps); err != nil {
				return err
			}
			cancelled = append(cancelled, next)
			if len(cancelled) > 1000 {
				return conflict("more than 1,000 tasks depend on %v: cancel them in smaller groups", id)
			}
			if deps == DependentsCancel {
				queue = append(queue, dependents...)
			}
		}
		return nil
	})
	return cancelled, err
}

// cancel cancels a locked task and ends its claim.
func (c *change) cancel(t *Task, dependents []ID, reason string, deps Dependents) error {
	if err := c.notPersons(t, "cancel it"); err != nil {
		return err
	}
	if !c.actor.Person {
		if err := c.checkAnswered(t.ID); err != nil {
			return err
		}
	}
	if t.Status == InReview {
		if err := c.mayDecide(t, "cancel it"); err != nil {
			return err
		}
	}
	if err := c.notInIntent(t); err != nil {
		return err
	}
	if t.Status == InProgress {
		if reason == "" {
			return invalid("%v is in progress: a reason is required to cancel it", t.ID)
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
	_, err := c.finish(t, nil, Cancelled, EventCancelled, Detail{Attempt: t.Attempt, Text: reason, By: c.actor.Kind()})
	return err
}

// A Verdict is the result of a review.
type Verdict string

const (
	Accept Verdict = "accept"
	Reject Verdict = "reject"
	// Retry makes a failed task pending again, with a new failure budget.
	Retry Verdict = "retry"
	// Skip gives a review back without a decision. Its worker is not offered it for ten
	// minutes.
	Skip Verdict = "skip"
)

// A Decision is a verdict on a task.
type Decision struct {
	Verdict Verdict
	// Note is for the next attempt. A rejection needs one, or comments.
	Note string
	// Comments are added to those that the work has.
	Comments []Comment `json:",omitzero"`
	// Claim is the claim on the review under which the verdict is given, or zero. If it has
	// ended, the verdict is rejected: the task may have new work by now.
	Claim Handle
	// Attempt is the attempt whose work was looked at, or zero. If there is a later one, the
	// verdict is rejected, too.
	Attempt int
}

// Review accepts or rejects a task in review, or retries a failed one. A verdict ends the
// claim on the review; while a worker has that claim, no other agent may decide. Under PolicyReview a
// caller that held any attempt of the task is denied, and so is, under every other policy,
// one that is not a person.
func (b *Board) Review(ctx context.Context, a Actor, id ID, d Decision) (Outcome, error) {
	v, note := d.Verdict, d.Note
	if err := cmp.Or(checkTexts(text{"note", note, maxText}), checkComments(d.Comments)); err != nil {
		return Outcome{}, err
	}
	switch {
	case len(d.Comments) > 0 && v != Accept && v != Reject:
		return Outcome{}, invalid("comments come with accept or reject")
	case v != Accept && v != Reject && v != Retry && v != Skip:
		return Outcome{}, invalid("invalid verdict %.20q: want accept, reject, retry or skip", v)
	}
	var out Outcome
	err := b.change(ctx, a, func(c *change) error {
		t, dependents, err := c.lockFamily(id)
		if err != nil {
			return err
		}
		want, may := InReview, c.mayDecide
		if v == Retry {
			want, may = Failed, c.mayRetry
		}
		if t.Status != want {
			return conflict("%v is %s; the verdict %s applies only to tasks in state %s", id, t.Status, v, want)
		}
		if d.Attempt != 0 && d.Attempt != t.Attempt {
			return conflict("the work of %v is that of attempt %d by now, not of attempt %d: look at it again", id, t.Attempt, d.Attempt)
		}
		if err := may(t, "review it"); err != nil {
			return err
		}
		if v != Retry {
			if err := c.decides(t, d); err != nil {
				return err
			}
		}
		out = Outcome{Task: id}
		from := t.Status
		detail := Detail{Attempt: t.Attempt, Text: note, By: a.Kind()}
		var comments []Comment
		if v == Accept || v == Reject {
			if comments, err = c.comment(t, d.Comments); err != nil {
				return err
			}
		}
		switch v {
		case Accept:
			if err := c.checkFinished(t); err != nil {
				return err
			}
			p, err := c.tx.Project(id.Project)
			if err != nil {
				return err
			}
			doc, err := c.tx.Doc(id)
			if err != nil {
				return err
			}
			if out.Freed, err = c.accept(t, dependents, p, doc.Result, EventAccepted, detail); err != nil {
				return err
			}
		case Reject:
			if detail.Comments = comments; note == "" && len(comments) == 0 {
				return invalid("a rejection needs a note, or comments: the next attempt is told what was wrong")
			}
			detail.Text = cmp.Or(note, "see the comments")
			c.fail(t)
			if err := c.cameBack(t, "rejected: "+detail.Text); err != nil {
				return err
			}
			c.event(t, EventRejected, from, detail)
		case Retry:
			c.retry(t, note)
		}
		out.Status, out.Failures, out.MaxFailures = t.Status, t.Failures, t.MaxFailures
		return nil
	})
	return out, err
}

// mayDecide denies a decision about a task in review. Under PolicyReview every caller may
// decide that held no attempt of the task, and a person in any case; under the other
// policies only a person may.
func (c *change) mayDecide(t *Task, what string) error {
	if c.actor.Person {
		return nil
	}
	p, err := c.tx.Project(t.ID.Project)
	if err != nil {
		return err
	}
	if p.Policy != PolicyReview {
		return denied("%v waits for a person's review, and only a person can %s: the policy of %s is %q", t.ID, what, p.Slug, p.Policy)
	}
	return c.notHolder(t.ID, what)
}

// mayRetry denies a new attempt at a failed task to an agent that held it.
func (c *change) mayRetry(t *Task, what string) error {
	if c.actor.Person {
		return nil
	}
	return c.notHolder(t.ID, what)
}

// Release takes a task or its review back from its holder, or ends its cool-down or
// reservation. It counts no failure.
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

// release makes a locked task pending, and ends its claim with a cause.
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
	case t.Status == InReview:
		live, err := c.liveReview(t.ID)
		if err != nil {
			return err
		}
		if live == nil {
			return conflict("nobody reviews %v now", t.ID)
		}
		_, err = c.endReview(*live, cause, reason)
		return err
	default:
		return conflict("%v is %s and has no holder", t.ID, t.State())
	}
	t.NotBefore = time.Time{}
	t.ReservedFor = WorkerID{}
	c.event(t, EventReleased, from, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Text: reason, Cause: cause})
	return nil
}
