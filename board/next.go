package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Wish is what a worker asks for.
type Wish struct {
	// Worker is the name it was given before; empty: it gets a new one.
	Worker string
	// Task is the one it would like, or zero.
	Task ID
	// Projects are those it may work in.
	Projects []string
	// Skills is what it can do; nil fits every task.
	Skills []string
	// Wait is how long to wait for work.
	Wait time.Duration
	// Absent is set for a worker whose presence nobody sees; its lease is longer.
	Absent  bool
	Session string
	Where   Where
	// Key makes a repeated call give the same claim.
	Key string
}

// A Handout is a task in a worker's hands, with all that helps to begin.
type Handout struct {
	Claim Claim
	Dossier
	// Again is set when the worker held it already.
	Again bool
}

// Next hands out a task: the one that the worker holds, the one that is kept for
// it, the one it wishes, or the next in line. If there is nothing the error is a
// *Nothing that says why.
func (b *Board) Next(ctx context.Context, a Actor, w Wish) (*Handout, error) {
	h, err := b.nextFor(ctx, a, w)
	if asked := b.o.Observer.Asked; asked != nil {
		var waited time.Duration
		r := answered(h, err)
		if r == AnsweredGranted {
			waited = h.waited()
		}
		asked(r, waited)
	}
	return h, err
}

func (b *Board) nextFor(ctx context.Context, a Actor, w Wish) (*Handout, error) {
	w, err := b.checkWish(ctx, w)
	if err != nil {
		return nil, err
	}
	h, who, err := b.look(ctx, a, w)
	if errors.Is(err, errNothing) && w.Worker != "" {
		// A call whose answer was lost may have got it a task meanwhile.
		holds, failed := b.holds(ctx, WorkerID{Principal: a.Principal, Name: w.Worker})
		if failed != nil {
			return nil, failed
		}
		if holds {
			h, who, err = b.look(ctx, a, w)
		}
	}
	if errors.Is(err, errNothing) || errors.Is(err, ErrConflict) && !w.Task.IsZero() {
		swept, failed := b.sweep(ctx)
		if failed != nil {
			return nil, failed
		}
		if swept { // what has run out may be what is wanted
			h, who, err = b.look(ctx, a, w)
		}
	}
	if errors.Is(err, errNothing) && w.Wait > 0 {
		h, err = b.wait(ctx, a, w, who)
	}
	if errors.Is(err, errNothing) {
		return nil, b.nothing(ctx, w)
	}
	return h, err
}

// holds reports whether a worker has a task now.
func (b *Board) holds(ctx context.Context, who WorkerID) (bool, error) {
	var st Standing
	err := b.store.Read(ctx, func(r Reader) (err error) {
		st, err = r.Standing(who)
		return err
	})
	return st.Claim != nil, err
}

// look looks for a task once. If there is none the error is errNothing, and who is
// the one to wait for it.
func (b *Board) look(ctx context.Context, a Actor, w Wish) (h *Handout, who Claimant, err error) {
	if w.Key != "" {
		h, err = b.nextOnce(ctx, a, w)
		return h, who, err
	}
	if w.Worker == "" && w.Task.IsZero() {
		return b.first(ctx, a, w)
	}
	var st Standing
	err = b.store.Read(ctx, func(r Reader) error {
		who, st, err = b.claimant(r, a, w)
		return err
	})
	if err != nil {
		return nil, who, err
	}
	if st.Claim != nil {
		h, err := b.again(ctx, a, *st.Claim, who)
		if h != nil || err != nil {
			return h, who, err
		}
	}
	if !w.Task.IsZero() {
		h, err = b.take(ctx, a, w, w.Task, who)
		return h, who, err
	}
	if !st.Reserved.IsZero() && slices.Contains(w.Projects, st.Reserved.Project) {
		h, err := b.take(ctx, a, w, st.Reserved, who)
		if !errors.Is(err, ErrConflict) {
			return h, who, err
		}
	}
	claims, err := b.store.Claim(ctx, b.want(w, who))
	if err != nil {
		return nil, who, err
	}
	if len(claims) == 0 {
		return nil, who, errNothing
	}
	h, err = b.deliver(ctx, a, claims[0])
	return h, who, err
}

// first is look for a worker that has no name yet: it has nothing else either. That
// the name is free is asked only if there was no task.
func (b *Board) first(ctx context.Context, a Actor, w Wish) (*Handout, Claimant, error) {
	for {
		who := newClaimant(a, w)
		claims, err := b.store.Claim(ctx, b.want(w, who))
		if err != nil {
			return nil, who, err
		}
		if len(claims) > 0 {
			h, err := b.deliver(ctx, a, claims[0])
			return h, who, err
		}
		var st Standing
		err = b.store.Read(ctx, func(r Reader) error {
			st, err = r.Standing(who.Worker)
			return err
		})
		if err != nil {
			return nil, who, err
		}
		if st.Worker.IsZero() {
			return nil, who, errNothing
		}
	}
}

// newClaimant draws a name for a worker.
func newClaimant(a Actor, w Wish) Claimant {
	return Claimant{
		Worker: WorkerID{Principal: a.Principal, Name: newWorkerName()}, New: true,
		Owner: a.Owner, Session: w.Session, Where: w.Where,
	}
}

// want is what a wish asks the store for.
func (b *Board) want(w Wish, who Claimant) Want {
	return Want{Projects: w.Projects, Skills: w.Skills, For: []Claimant{who}, Lease: b.lease(w.Absent)}
}

// wait waits for a task as long as the wish says.
func (b *Board) wait(ctx context.Context, a Actor, w Wish, who Claimant) (*Handout, error) {
	if w.Key != "" {
		h, err := b.awaitLook(ctx, b.want(w, who), w.Wait, func() (*Handout, error) { return b.nextOnce(ctx, a, w) })
		if errors.Is(err, errNothing) && w.Worker != "" && ctx.Err() == nil { // as below
			return b.nextOnce(ctx, a, w)
		}
		return h, err
	}
	claim, err := b.await(ctx, b.want(w, who), w.Wait)
	switch {
	case err != nil:
		return nil, err
	case claim != nil:
		return b.deliver(ctx, a, *claim)
	case w.Worker == "":
		return nil, errNothing
	}
	// What is kept for a worker is not in the line that it waited in.
	h, _, err := b.look(ctx, a, w)
	return h, err
}

// checkWish brings a wish into its usual form.
func (b *Board) checkWish(ctx context.Context, w Wish) (Wish, error) {
	if len(w.Projects) == 0 {
		return w, invalid("no project to work in")
	}
	if !w.Task.IsZero() && !slices.Contains(w.Projects, w.Task.Project) {
		return w, fmt.Errorf("task %v: %w", w.Task, ErrNotFound)
	}
	if err := checkTexts(text{"worker", w.Worker, 60}, text{"session", w.Session, 200}); err != nil {
		return w, err
	}
	if w.Skills == nil {
		return w, nil
	}
	skills, err := checkSkills(w.Skills)
	if err != nil {
		return w, err
	}
	var projects []Project
	err = b.store.Read(ctx, func(r Reader) error {
		projects, err = b.projects(r, w.Projects)
		return err
	})
	w.Skills = []string{}
	for _, p := range projects {
		known, _ := p.Known(skills)
		w.Skills = append(w.Skills, known...)
	}
	slices.Sort(w.Skills)
	w.Skills = slices.Compact(w.Skills)
	if len(w.Skills) == 0 {
		w.Skills = nil // it declared nothing that anybody asks for
	}
	return w, err
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

// again gives a worker what it holds already. It is nil if that has just ended.
func (b *Board) again(ctx context.Context, a Actor, held Claim, who Claimant) (*Handout, error) {
	ended := false
	a.Worker = who.Worker.Name
	err := b.change(ctx, a, func(c *change) error {
		ended = false
		if err := c.lock(held.Task); err != nil {
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
	if err != nil || ended {
		return nil, err
	}
	h, err := b.handout(ctx, held)
	if h != nil {
		h.Again = true
	}
	return h, err
}

// redeliver gives a worker its claim again. The sixth time without a sign of work
// between ends the attempt instead.
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
	h.attempt.Owner = who.Owner
	h.attempt.SpecVersion = t.SpecVersion
	c.saw(h, who.Where)
	if err := c.tx.UpdateAttempt(h.attempt); err != nil {
		return false, err
	}
	if err := c.tx.PutWorker(Worker{WorkerID: who.Worker, Owner: who.Owner, LastSeen: c.now}); err != nil {
		return false, err
	}
	return true, c.tx.UpdateClaim(*h.claim)
}

// take grants one certain task: a wish, or what is kept for the worker.
func (b *Board) take(ctx context.Context, a Actor, w Wish, id ID, who Claimant) (*Handout, error) {
	var claim Claim
	err := b.change(ctx, a, func(c *change) (err error) {
		claim, err = c.grantOne(w, id, who)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.deliver(ctx, a, claim)
}

func (c *change) grantOne(w Wish, id ID, who Claimant) (Claim, error) {
	if err := c.lock(id); err != nil {
		return Claim{}, err
	}
	p, err := c.tx.Project(id.Project)
	if err != nil {
		return Claim{}, err
	}
	claim, err := c.grant(p, *c.tasks[id], w, who)
	delete(c.tasks, id) // Grant has written it
	return claim, err
}

// grant gives a locked task to a worker if nothing stands against it.
func (c *change) grant(p Project, t Task, w Wish, who Claimant) (Claim, error) {
	free := t.Ready() || t.Status == Pending && t.ReservedFor == who.Worker && !t.Hold && t.OpenBlockers == 0 && t.OpenChildren == 0
	if !free || p.Archived {
		return Claim{}, conflict("%v cannot be handed out now", t.ID)
	}
	if p.PausedBy != "" {
		return Claim{}, conflict("project %s is paused by %s", p.Slug, p.PausedBy)
	}
	if w.Skills != nil && slices.ContainsFunc(t.Skills, func(s string) bool { return !slices.Contains(w.Skills, s) }) {
		return Claim{}, conflict("%v wants skills %s", t.ID, strings.Join(t.Skills, ", "))
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

// nextOnce is look with an idempotency key: the key and the claim are written
// together.
func (b *Board) nextOnce(ctx context.Context, a Actor, w Wish) (*Handout, error) {
	body := w
	body.Where, body.Wait, body.Key = Where{}, 0, ""
	var claim Claim
	var held *Claim // what the worker has without this key
	var who Claimant
	replayed := false
	err := b.change(ctx, a, func(c *change) error {
		held, replayed = nil, false
		k, kept, replays, err := c.once("get_next_task", w.Key, body)
		if err != nil {
			return err
		}
		if replays {
			replayed = true
			claim, err = c.replay(kept, w)
			return err
		}
		var st Standing
		if who, st, err = b.claimant(c.tx, a, w); err != nil {
			return err
		}
		if st.Claim != nil {
			held = st.Claim
			return errNothing
		}
		if claim, err = c.next(w, who, st.Reserved); err != nil {
			return err // the key is not used up
		}
		return c.keep(k, claim.Handle.String())
	})
	if held != nil {
		h, err := b.again(ctx, a, *held, who)
		if err != nil {
			return nil, err
		}
		if h == nil { // it has just ended
			return b.nextOnce(ctx, a, w)
		}
		return h, b.change(ctx, a, func(c *change) error {
			k, _, replays, err := c.once("get_next_task", w.Key, body)
			if err != nil || replays {
				return err
			}
			return c.keep(k, held.Handle.String())
		})
	}
	if err != nil {
		return nil, err
	}
	h, err := b.handout(ctx, claim)
	if h != nil {
		h.Again = replayed
	}
	return h, err
}

// replay delivers the claim of a key again.
func (c *change) replay(kept string, w Wish) (Claim, error) {
	h, err := ParseHandle(kept)
	if err != nil {
		return Claim{}, err
	}
	if err := c.lock(h.Task); err != nil {
		return Claim{}, err
	}
	held, err := c.inForce(h)
	if err != nil {
		return Claim{}, err
	}
	delivered, err := c.redeliver(held, Claimant{Worker: held.attempt.Worker, Owner: c.actor.Owner, Session: w.Session, Where: w.Where})
	if err == nil && !delivered {
		c.refused = c.lost(h, &held.attempt)
	}
	return *held.claim, err
}

// next grants a wish, what is kept for the worker, or the next task in line.
func (c *change) next(w Wish, who Claimant, reserved ID) (Claim, error) {
	if !w.Task.IsZero() {
		return c.grantOne(w, w.Task, who)
	}
	if !reserved.IsZero() && slices.Contains(w.Projects, reserved.Project) {
		claim, err := c.grantOne(w, reserved, who)
		if !errors.Is(err, ErrConflict) {
			return claim, err
		}
	}
	claims, err := c.tx.Claim(c.b.want(w, who))
	if err != nil {
		return Claim{}, err
	}
	if len(claims) == 0 {
		return Claim{}, errNothing
	}
	return claims[0], nil
}

var errNothing = errors.New("board: nothing")

// handout reads all that a worker needs to begin.
func (b *Board) handout(ctx context.Context, claim Claim) (*Handout, error) {
	d, err := b.Get(ctx, claim.Task, 50)
	if errors.Is(err, ErrUnavailable) { // that would say that nothing has happened
		return nil, fmt.Errorf("%w: %v is granted and cannot be read: %v", ErrUnknown, claim.Handle, err)
	}
	if err != nil {
		return nil, err
	}
	return &Handout{Claim: claim, Dossier: d}, nil
}

// deliver is handout for a new grant. If the caller is gone by now the task goes
// back, without a failure.
func (b *Board) deliver(ctx context.Context, a Actor, claim Claim) (*Handout, error) {
	h, err := b.handout(ctx, claim)
	if ctx.Err() != nil {
		b.undelivered(context.WithoutCancel(ctx), a, claim)
		return nil, ctx.Err()
	}
	return h, err
}

// undelivered gives back a task whose worker never heard of it.
func (b *Board) undelivered(ctx context.Context, a Actor, claim Claim) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := b.change(ctx, a, func(c *change) error {
		if err := c.lock(claim.Task); err != nil {
			return err
		}
		if t := c.tasks[claim.Task]; t.Status == InProgress && t.handle() == claim.Handle {
			return c.release(t, CauseUndelivered, "the worker was gone before it heard of it")
		}
		return nil
	})
	if err != nil {
		b.o.Logger.Warn("a task could not be given back", "task", claim.Task, "err", err)
	}
}
