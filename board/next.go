package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Wish is a worker's request for a task.
type Wish struct {
	// Worker is the name that an earlier call returned; empty to get a new name.
	Worker string
	// Task is the task that the worker prefers, or zero.
	Task ID
	// Draft: a person wants Task although it is a draft, or its project is paused. A draft is started then, and nobody
	// else can be given it in between.
	Draft bool
	// Projects are the projects that the worker may work in.
	Projects []string
	// Skills are the worker's skills; nil to be offered any task.
	Skills []string
	// Reviews are those of Projects in which the worker may also be given reviews.
	Reviews []string
	// OnlyReviews is set for a worker that is given reviews, and no tasks.
	OnlyReviews bool
	// Wait is how long to wait for a task.
	Wait time.Duration
	// Absent is set for a worker whose presence cannot be observed; its lease is longer.
	Absent  bool
	Session string
	Where   Where
	// Apart is set if the caller tells its worker to work on the branch that the hand-out
	// orders, see Where.Ordered.
	Apart bool
	// Key is an idempotency key: repeating the call with it returns the same claim.
	Key string
}

// A Handout is a claimed task or review, with all that the worker needs to begin.
type Handout struct {
	Claim Claim
	Dossier
	// Again is set if the worker held the claim before the call.
	Again bool
	// Neighbours are the live claims whose work may collide with this one.
	Neighbours []Neighbour
}

// Next hands out a task: the one that the worker holds, else the one it wishes for, else
// the one reserved for it, else the first review or the first that fits in the queue. A
// hand-out whose Claim is that of a review is to be reviewed. If there is none, the error is a *Nothing that explains why.
func (b *Board) Next(ctx context.Context, a Actor, w Wish) (*Handout, error) {
	h, err := b.nextFor(ctx, a, w)
	if a.hasEnded() {
		if err == nil && !h.Again {
			b.undelivered(context.WithoutCancel(ctx), Actor{Principal: boardActor}, h.Claim)
		}
		h, err = nil, errEnded
	}
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
	if err := b.sweepFirst(ctx, WorkerID{Principal: a.Principal, Name: w.Worker}); err != nil {
		return nil, err
	}
	h, who, err := b.look(ctx, a, w)
	if errors.Is(err, errNothing) && w.Worker != "" {
		// An earlier call whose answer was lost may have claimed a task in the meantime.
		holds, failed := b.holds(ctx, WorkerID{Principal: a.Principal, Name: w.Worker})
		if failed != nil {
			return nil, failed
		}
		if holds {
			h, who, err = b.look(ctx, a, w)
		}
	}
	_, taken := errors.AsType[*HeldError](err)
	if taken || errors.Is(err, errNothing) || errors.Is(err, ErrConflict) && !w.Task.IsZero() {
		swept, failed := b.sweep(ctx)
		if failed != nil {
			return nil, failed
		}
		// The sweep may have freed a task, or the worker's name. Another process may have been first: a name is looked for
		// again then, and a task, too, unless the call waits for one anyway.
		if swept || taken || w.Wait == 0 {
			h, who, err = b.look(ctx, a, w)
		}
	}
	if errors.Is(err, errNothing) && w.Wait > 0 {
		if err := b.checkConnection(ctx, a); err != nil {
			return nil, err
		}
		h, err = b.wait(ctx, a, w, who)
	}
	if errors.Is(err, errNothing) {
		// It may have been stopped while it waited.
		if err := b.checkConnection(ctx, a); err != nil {
			return nil, err
		}
		return nil, b.nothing(ctx, a, w)
	}
	if errors.Is(err, ErrUnknown) && (ctx.Err() != nil || a.hasEnded()) && w.Key == "" { // nobody receives the error
		b.mu.Lock()
		b.abandonLocked(grantID{who.Worker, who.Nonce})
		b.mu.Unlock()
	}
	if err == nil && w.Apart && !a.hasEnded() {
		b.order(ctx, a, h)
	}
	return h, err
}

// sweepFirst sweeps before a hand-out if this process does not sweep, or has just begun:
// the task of a worker that died may be the one to hand out. A worker that asks for the
// task it holds is alive, and gets it even though its lease has expired.
func (b *Board) sweepFirst(ctx context.Context, who WorkerID) error {
	if time.Since(time.Unix(b.swept.Load(), 0)) <= 2*b.o.Sweep+time.Second {
		return nil
	}
	if who.Name != "" {
		if holds, err := b.holds(ctx, who); err != nil || holds {
			return err
		}
	}
	_, err := b.sweep(ctx)
	return err
}

// holds reports whether a worker holds a claim.
func (b *Board) holds(ctx context.Context, who WorkerID) (bool, error) {
	var st Standing
	err := b.store.Read(ctx, func(r Reader) (err error) {
		st, err = r.Standing(who)
		return err
	})
	return st.Held() != nil, err
}

// look looks for a task once, in the hand-out order. If there is none, the error is
// errNothing, and the Claimant is the worker that may wait for one.
func (b *Board) look(ctx context.Context, a Actor, w Wish) (*Handout, Claimant, error) {
	if a.hasEnded() {
		return nil, Claimant{}, errEnded
	}
	if w.Key != "" {
		h, err := b.nextOnce(ctx, a, w)
		return h, Claimant{}, err
	}
	for {
		who, st, err := b.identify(ctx, a, w)
		if err != nil {
			return nil, who, err
		}
		d, err := b.sources(ctx, a, w, who).first(w, st)
		if err == nil {
			h, err := b.deliver(ctx, a, d)
			return h, who, maybeHeld(err, who)
		}
		if errors.Is(err, errNothing) && st.Worker.Name != "" && st.Worker.Owner != a.Owner {
			if failed := b.adopt(ctx, a, st.Worker); failed != nil {
				return nil, who, failed
			}
		}
		if !errors.Is(err, errNothing) || !who.New {
			return nil, who, maybeHeld(err, who)
		}
		// The store also grants nothing if the new name is taken.
		taken, failed := b.nameTaken(ctx, who.Worker)
		if failed != nil || !taken {
			return nil, who, cmp.Or(failed, err)
		}
	}
}

// maybeHeld adds to an error with an unknown outcome who may have got a task.
func maybeHeld(err error, who Claimant) error {
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	return &UnknownError{Worker: who.Worker.Name, Err: err}
}

// adopt notes that a process goes on under the name of a worker, although there is nothing
// to hand out to it: what the worker held is its own work now.
func (b *Board) adopt(ctx context.Context, a Actor, w Worker) error {
	return b.change(ctx, a, func(c *change) error {
		w.Owner = a.Owner
		return c.tx.PutWorker(w)
	})
}

// sources returns the sources of a call without an idempotency key. Each runs in a
// transaction of its own.
func (b *Board) sources(ctx context.Context, a Actor, w Wish, who Claimant) sources {
	return sources{
		held: func(held Claim) (delivery, error) { return b.redeliver(ctx, a, held, who) },
		task: func(id ID) (d delivery, err error) {
			err = b.change(ctx, a, func(c *change) (err error) {
				d, err = c.grantTask(w, id, who)
				return err
			})
			return d, err
		},
		reviewable: func() (next Reviewable, err error) {
			if len(w.Reviews) == 0 {
				return Reviewable{}, nil
			}
			err = b.store.Read(ctx, func(r Reader) (err error) {
				next, err = b.reviewable(r, w, who)
				return err
			})
			return next, err
		},
		review: func(id ID) (d delivery, err error) {
			err = b.change(ctx, a, func(c *change) (err error) {
				d, err = c.grantReview(w, id, who)
				return err
			})
			return d, err
		},
		queue: func() (delivery, error) { return only(b.store.Claim(ctx, b.want(w, who))) },
	}
}

// only returns the claim of a single claimant; errNothing if there is none.
func only(claims []Claim, err error) (delivery, error) {
	switch {
	case err != nil:
		return delivery{}, err
	case len(claims) == 0:
		return delivery{}, errNothing
	}
	return delivery{claim: claims[0]}, nil
}

// want returns what a wish asks the store for.
func (b *Board) want(w Wish, who Claimant) Want {
	want := Want{Projects: w.Projects, Skills: w.Skills, For: []Claimant{who}, Lease: b.lease(w.Absent)}
	if w.OnlyReviews {
		want.Reviews = w.Reviews
	}
	return want
}

// wait waits for a task from the queue, at most as long as the wish says.
func (b *Board) wait(ctx context.Context, a Actor, w Wish, who Claimant) (*Handout, error) {
	if w.Key != "" {
		look := func() (*Handout, error) {
			h, _, err := b.look(ctx, a, w)
			return h, err
		}
		h, err := b.awaitLook(ctx, a, b.want(w, who), w.Wait, look)
		if errors.Is(err, errNothing) && w.Worker != "" && ctx.Err() == nil { // for the same reason as below
			return look()
		}
		return h, err
	}
	if reviews, err := b.hasReviews(ctx, w); err != nil {
		return nil, err
	} else if reviews || w.OnlyReviews {
		h, err := b.awaitLook(ctx, a, b.want(w, who), w.Wait, func() (*Handout, error) {
			h, _, err := b.look(ctx, a, w)
			return h, err
		})
		if errors.Is(err, errNothing) && ctx.Err() != nil {
			err = ctx.Err()
		}
		return h, err
	}
	claim, err := b.await(ctx, a, b.want(w, who), w.Wait)
	switch {
	case err != nil:
		return nil, maybeHeld(err, who)
	case claim != nil:
		h, err := b.deliver(ctx, a, delivery{claim: *claim})
		return h, maybeHeld(err, who)
	case w.Worker == "":
		return nil, errNothing
	}
	// Only the queue was waited for; another source may have a task by now.
	h, _, err := b.look(ctx, a, w)
	return h, err
}

// hasReviews reports whether a worker may be given reviews in one of its projects. A review
// fits one worker and not another, so each has to look for itself.
func (b *Board) hasReviews(ctx context.Context, w Wish) (bool, error) {
	if len(w.Reviews) == 0 {
		return false, nil
	}
	var ps []Project
	err := b.store.Read(ctx, func(r Reader) (err error) {
		ps, err = r.Projects(w.Reviews...)
		return err
	})
	return slices.ContainsFunc(ps, func(p Project) bool { return p.Policy == PolicyReview }), err
}

// checkWish validates and normalizes a wish.
func (b *Board) checkWish(ctx context.Context, w Wish) (Wish, error) {
	if len(w.Projects) == 0 {
		return w, invalid("no project to work in")
	}
	if w.OnlyReviews && (len(w.Reviews) == 0 || !w.Task.IsZero()) {
		return w, invalid("a wish for reviews alone names projects to review in, and no task")
	}
	if !w.Task.IsZero() && !slices.Contains(w.Projects, w.Task.Project) {
		return w, fmt.Errorf("task %v: %w", w.Task, ErrNotFound)
	}
	if err := cmp.Or(checkTexts(text{"worker", w.Worker, 60}, text{"session", w.Session, 200}), checkWhere(&w.Where)); err != nil {
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
		w.Skills = nil // no project knows any of the declared skills
	}
	return w, err
}
