package board

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Grant grants a ready or reserved task, locked in tx, to a claimant. It writes the claim,
// the attempt, the task, the worker and an event. lease applies if the task has none of
// its own. A store that hands out with a single statement must write the same.
func Grant(tx Tx, t Task, c Claimant, lease time.Duration) (Claim, error) {
	now, err := tx.Now()
	if err != nil {
		return Claim{}, err
	}
	st, err := tx.Standing(c.Worker)
	if err != nil {
		return Claim{}, err
	}
	if st.Worker.StoppedBy != "" {
		return Claim{}, conflict("worker %q was stopped by %q", c.Worker.Name, st.Worker.StoppedBy)
	}
	if err := checkConnection(tx, Actor{Principal: c.Worker.Principal, Owner: c.Owner}); err != nil {
		if stopped, ok := errors.AsType[*StoppedError](err); ok {
			return Claim{}, conflict("%v", stopped)
		}
		return Claim{}, err
	}
	if c.New && !st.Worker.IsZero() {
		return Claim{}, conflict("worker %q exists already", c.Worker.Name)
	}
	if st.Review != nil {
		return Claim{}, conflict("worker %q reviews %v", c.Worker.Name, st.Review.Task)
	}
	seq, from := t.Seq, t.Status
	if t.Lease > 0 {
		lease = t.Lease
	}
	t.Status = InProgress
	t.Attempt++
	t.Nonce = cmp.Or(c.Nonce, NewNonce())
	t.Seq++
	t.NotBefore = time.Time{}
	t.ReservedFor = WorkerID{}
	claim := Claim{
		Handle:     t.handle(),
		Worker:     c.Worker,
		Owner:      c.Owner,
		Session:    c.Session,
		Where:      c.Where,
		GrantedAt:  now,
		LeaseUntil: now.Add(lease),
		Lease:      lease,
		LastCall:   now,
	}
	if err := tx.InsertClaim(claim, t.Areas); err != nil {
		return Claim{}, fmt.Errorf("grant %v: %w", t.ID, err)
	}
	if err := tx.UpdateTask(t, seq); err != nil {
		return Claim{}, fmt.Errorf("grant %v: %w", t.ID, err)
	}
	if err := tx.InsertAttempt(Attempt{
		Handle:      claim.Handle,
		Worker:      c.Worker,
		Owner:       c.Owner,
		GrantedAt:   now,
		Where:       c.Where,
		SpecVersion: t.SpecVersion,
	}); err != nil {
		return Claim{}, fmt.Errorf("grant %v: %w", t.ID, err)
	}
	if err := tx.PutWorker(Worker{WorkerID: c.Worker, Owner: c.Owner, LastSeen: now}); err != nil {
		return Claim{}, fmt.Errorf("grant %v: %w", t.ID, err)
	}
	return claim, tx.Append(Event{
		Task: t.ID, Seq: t.Seq, Actor: c.Worker.Name, Kind: EventClaimed, From: from, To: t.Status,
		Detail: Detail{
			Attempt: t.Attempt, Nonce: t.Nonce, Worker: c.Worker.Name, Where: c.Where,
			LeaseSecs: int(lease / time.Second),
		},
	})
}

// grantTask grants one particular task, or its review; ErrConflict if it cannot be handed out now.
func (c *change) grantTask(w Wish, id ID, who Claimant) (delivery, error) {
	if err := c.lock(id); err != nil {
		return delivery{}, err
	}
	p, err := c.tx.Project(id.Project)
	if err != nil {
		return delivery{}, err
	}
	if c.tasks[id].Status == InReview {
		return c.grantReview(w, id, who)
	}
	if w.Draft && c.tasks[id].Hold {
		if err := c.startDraft(c.tasks[id]); err != nil {
			return delivery{}, err
		}
	}
	claim, err := c.grant(p, *c.tasks[id], w, who)
	delete(c.tasks, id) // Grant has written it
	return delivery{claim: claim}, err
}

// startDraft starts a locked draft that is granted in the same transaction.
func (c *change) startDraft(t *Task) error {
	if !c.actor.Person {
		return denied("%v is a draft, and only a person can take it", t.ID)
	}
	seq := t.Seq
	t.Hold, t.QueuedAt, t.Seq = false, c.now, seq+1
	if err := c.tx.UpdateTask(*t, seq); err != nil {
		return err
	}
	return c.tx.Append(Event{Task: t.ID, Seq: t.Seq, Actor: c.actor.String(), Kind: EventStarted, From: t.Status, To: t.Status})
}

// grant grants a locked task to a worker, if the task can be handed out to it now.
func (c *change) grant(p Project, t Task, w Wish, who Claimant) (Claim, error) {
	free := t.Ready() || t.Status == Pending && t.ReservedFor == who.Worker && !t.Hold && t.OpenBlockers == 0 && t.OpenChildren == 0
	if !free || p.Archived {
		return Claim{}, conflict("%v cannot be handed out now", t.ID)
	}
	if p.PausedBy != "" && !(w.Draft && c.actor.Person) {
		return Claim{}, conflict("project %s is paused by %q", p.Slug, p.PausedBy)
	}
	if w.Skills != nil && slices.ContainsFunc(t.Skills, func(s string) bool { return !slices.Contains(w.Skills, s) }) {
		return Claim{}, conflict("%v requires the skills %s", t.ID, quotedList(t.Skills))
	}
	lease := c.b.lease(w.Absent)
	if p.Lease > 0 {
		lease = p.Lease
	}
	return Grant(c.tx, t, who, lease)
}

func (b *Board) lease(absent bool) time.Duration {
	if absent {
		return b.o.LeaseAbsent
	}
	return b.o.Lease
}
