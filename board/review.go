package board

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// A claim on a review is a Claim whose handle has no attempt, such as web-142/review.k7f2q.
// It is the exclusive right of one worker to review a task, next to people, who may decide
// at any time. It is not a grant: the attempt, the nonce and the failures of the task stay as
// they are. It ends with a verdict, when its lease expires, or when it is released.

// IsReview reports whether h is the handle of a review, and not of a task.
func (h Handle) IsReview() bool { return h.Attempt == 0 && h.Nonce != "" }

// Held returns what the worker holds: a task or a review; nil if nothing.
func (s *Standing) Held() *Claim {
	if s.Claim != nil {
		return s.Claim
	}
	return s.Review
}

// A Reviewable is a task whose review can be handed out.
type Reviewable struct {
	Task ID
	// Behind is set if a ready task that fits the worker is more urgent.
	Behind bool
}

// reviewable finds the review that comes first for a worker; zero if there is none.
func (b *Board) reviewable(r Reader, w Wish, who Claimant) (Reviewable, error) {
	if len(w.Reviews) == 0 {
		return Reviewable{}, nil
	}
	return r.Reviewable(Want{Projects: w.Projects, Reviews: w.Reviews, Skills: w.Skills, For: []Claimant{who}})
}

// grantReview grants the review of one task; ErrConflict if it cannot be handed out now.
func (c *change) grantReview(w Wish, id ID, who Claimant) (delivery, error) {
	if err := c.lock(id); err != nil {
		return delivery{}, err
	}
	t := c.tasks[id]
	p, err := c.tx.Project(id.Project)
	if err != nil {
		return delivery{}, err
	}
	if t.Status != InReview || t.OpenChildren > 0 || p.Policy != PolicyReview || p.PausedBy != "" || p.Archived || !slices.Contains(w.Reviews, id.Project) {
		return delivery{}, conflict("the review of %v cannot be handed out now", id)
	}
	held, err := c.tx.Held(id, who)
	if err != nil {
		return delivery{}, err
	}
	if held {
		return delivery{}, conflict("a worker that held %v cannot review it", id)
	}
	st, err := c.tx.Standing(who.Worker)
	if err != nil {
		return delivery{}, err
	}
	if err := checkConnection(c.tx, Actor{Principal: who.Worker.Principal, Owner: who.Owner}); err != nil {
		return delivery{}, err
	}
	if st.Worker.StoppedBy != "" || who.New && !st.Worker.IsZero() || st.Held() != nil {
		return delivery{}, conflict("worker %q cannot get a review now", who.Worker.Name)
	}
	lease := c.b.lease(w.Absent)
	if p.Lease > 0 {
		lease = p.Lease
	}
	claim := Claim{
		Handle: Handle{Task: id, Nonce: cmp.Or(who.Nonce, NewNonce())}, Worker: who.Worker, Owner: who.Owner, Session: who.Session,
		GrantedAt: c.now, LeaseUntil: c.now.Add(lease), Lease: lease,
	}
	if err := c.tx.InsertReview(claim); err != nil {
		return delivery{}, err
	}
	if err := c.tx.PutWorker(Worker{WorkerID: who.Worker, Owner: who.Owner, LastSeen: c.now}); err != nil {
		return delivery{}, err
	}
	c.eventBy(who.Worker.Name, t, EventReviewing, t.Status, Detail{Worker: who.Worker.Name, LeaseSecs: int(lease / time.Second)})
	return delivery{claim: claim}, nil
}

// liveReview reads the claim on the review of a task, or nil.
func (c *change) liveReview(id ID) (*Claim, error) {
	list, err := c.tx.Reviews(ClaimFilter{Task: id})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// endReview ends a claim on the review of a locked task without a verdict, if it is still
// live.
func (c *change) endReview(claim Claim, cause Cause, reason string) (bool, error) {
	live, err := c.liveReview(claim.Task)
	if err != nil || live == nil || live.Handle != claim.Handle {
		return false, err
	}
	if err := c.tx.DeleteReview(claim.Task); err != nil {
		return false, err
	}
	if t := c.tasks[claim.Task]; t.Status == InReview { // else an older program has decided
		c.event(t, EventReviewEnded, t.Status, Detail{Worker: claim.Worker.Name, Cause: cause, Text: reason})
		c.freed = true
	}
	return true, nil
}

// giveBackReview ends the claim of a program on a review without a verdict.
func (c *change) giveBackReview(h Handle, reason string) error {
	if err := c.lock(h.Task); err != nil {
		return err
	}
	live, err := c.liveReview(h.Task)
	switch {
	case err != nil:
		return err
	case live == nil || live.Handle != h:
		return conflict("the review %v has ended", h)
	case live.Worker.Principal != c.actor.Principal:
		return denied("%v is not a review of %s", h, c.actor.Principal)
	}
	_, err = c.endReview(*live, CauseLeft, cmp.Or(reason, "the program ended without a verdict"))
	return err
}

// expireReviews ends claims on reviews whose lease was over at a point in time, those of
// killed processes, and those of workers that also hold a task. It returns how many there
// were.
func (c *change) expireReviews(at time.Time, gone []string) (n int, err error) {
	expired, err := c.tx.ExpiredReviews(sweepBatch)
	for _, claim := range expired {
		if err := c.lock(claim.Task); err != nil {
			return 0, err
		}
		if claim.LeaseUntil.After(at) && !claim.LeaseUntil.After(c.now) && !slices.Contains(gone, claim.Owner) {
			continue // it has just expired; the next sweep ends it
		}
		reason := "no sign of life"
		if slices.Contains(gone, claim.Owner) {
			reason = Killed
		}
		ended, err := c.endReview(claim, CauseExpired, reason)
		if err != nil {
			return 0, err
		}
		if !ended {
			continue
		}
		n++
		if err := c.disown(claim); err != nil {
			return 0, err
		}
	}
	return n, err
}

// redeliverReview delivers the review that a worker holds again, with a full lease. It
// returns false if the review has ended: because of a verdict, because the policy is another
// one now, or because this is the sixth time.
func (c *change) redeliverReview(claim *Claim, who Claimant) (bool, error) {
	if err := c.lock(claim.Task); err != nil {
		return false, err
	}
	live, err := c.liveReview(claim.Task)
	if err != nil || live == nil || live.Handle != claim.Handle {
		return false, err
	}
	p, err := c.tx.Project(claim.Task.Project)
	if err != nil {
		return false, err
	}
	live.Deliveries++
	if live.Deliveries > maxDeliveries {
		if err := c.tx.Decline(live.Worker, live.Task, c.now.Add(declineTime)); err != nil {
			return false, err
		}
	}
	if live.Deliveries > maxDeliveries || p.Policy != PolicyReview || c.tasks[claim.Task].Status != InReview {
		_, err := c.endReview(*live, CauseRestarts, "given up without a verdict")
		return false, err
	}
	live.LeaseUntil, live.Owner = c.now.Add(live.Lease), who.Owner
	if who.Session != "" {
		live.Session = who.Session
	}
	*claim = *live
	if err := c.tx.PutWorker(Worker{WorkerID: who.Worker, Owner: who.Owner, LastSeen: c.now}); err != nil {
		return false, err
	}
	return true, c.tx.UpdateReview(*live)
}

// renewReview restores the full lease of a review that has not been swept.
func (b *Board) renewReview(ctx context.Context, claim Claim) error {
	return b.change(ctx, Actor{Principal: claim.Worker.Principal, Owner: claim.Owner, Worker: claim.Worker.Name}, func(c *change) error {
		if err := c.lock(claim.Task); err != nil {
			return err
		}
		live, err := c.liveReview(claim.Task)
		if err != nil || live == nil || live.Handle != claim.Handle {
			return err
		}
		live.LeaseUntil = c.now.Add(live.Lease)
		return c.tx.UpdateReview(*live)
	})
}

// decides checks a verdict against the claim on the review, and ends that claim: the
// verdict must be its holder's, or a person's.
func (c *change) decides(t *Task, d Decision) error {
	live, err := c.liveReview(t.ID)
	if err != nil {
		return err
	}
	if !d.Claim.IsZero() && (live == nil || live.Handle != d.Claim) {
		return conflict("the review %v has ended", d.Claim)
	}
	if live == nil {
		if d.Verdict == Skip {
			return conflict("you do not hold the review of %v", t.ID)
		}
		return nil
	}
	own := live.Owner == c.actor.Owner && live.Worker.Principal == c.actor.Principal
	switch {
	case own && !c.actor.Person:
		c.actor.Worker = live.Worker.Name
	case d.Verdict == Skip:
		return conflict("you do not hold the review of %v", t.ID)
	case !c.actor.Person:
		return conflict("another worker reviews %v", t.ID)
	}
	if d.Verdict == Skip {
		if err := c.tx.Decline(live.Worker, t.ID, c.now.Add(declineTime)); err != nil {
			return err
		}
		_, err := c.endReview(*live, CauseNotNow, d.Note)
		return err
	}
	return c.tx.DeleteReview(t.ID)
}

// claimsAndReviews lists the claims and the reviews that match a filter.
func claimsAndReviews(r Reader, f ClaimFilter) ([]Claim, error) {
	claims, err := r.Claims(f)
	if err != nil {
		return nil, err
	}
	reviews, err := r.Reviews(f)
	return append(claims, reviews...), err
}

// updateHeld writes the lease of a claim on a task or on a review. A claim that has ended
// is left alone.
func updateHeld(tx Tx, claim Claim) error {
	update := tx.UpdateClaim
	if claim.IsReview() {
		update = tx.UpdateReview
	}
	if err := update(claim); !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}
