package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A group is the queue of calls that wait for the same kind of work: same projects, same
// skills, same lease; those that wait for reviews alone have groups of their own. A task that fits one of them fits all. So one statement serves
// many waiters, at most one statement per group is in flight, and if it finds nothing,
// no other waiter of the group has to ask.
type group struct {
	key     string
	want    Want // For is empty
	waiting []*waiter
}

// A waiter is one waiting call. It gets a claim from the statement of its group. A call
// with an idempotency key looks itself when it is its turn, because its key and its
// claim are written together.
type waiter struct {
	who     Claimant
	actor   Actor
	ctx     context.Context
	claimed chan claimed // buffered, so that sending never blocks
	looking bool         // a statement or a look is in flight for it
	leaving bool         // its time is over; it waits only for what is in flight
	gone    bool         // the call has ended, and nobody receives its result

	look  func() (*Handout, error) // nil for a call without a key
	found chan found               // buffered; the final result of look
}

// claimed is what a statement brought a waiter: a claim, nothing, or an error if it is not
// known which.
type claimed struct {
	claim *Claim
	err   error
}

// found is the result of a look.
type found struct {
	handout *Handout
	err     error
}

// settleTime is how long a waiter whose time is over waits for the statement in flight.
// Afterwards it is told that the outcome is unknown.
const settleTime = 5 * time.Second

// await waits at most d for a task. It returns nil if none came.
func (b *Board) await(ctx context.Context, a Actor, want Want, d time.Duration) (*Claim, error) {
	me := &waiter{who: want.For[0], actor: a, ctx: ctx, claimed: make(chan claimed, 1)}
	g := b.enter(want, me)

	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case c := <-me.claimed:
		return c.claim, c.err
	case <-timer.C:
	case <-b.over:
	case <-a.Ended:
	case <-ctx.Done():
	}
	b.mu.Lock()
	me.leaving = true
	b.dismissLocked(g, me)
	looking := me.looking
	b.mu.Unlock()
	if looking { // it may still bring a claim
		timer.Reset(settleTime)
		select {
		case c := <-me.claimed:
			return c.claim, c.err
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case c := <-me.claimed: // it came just now
		return c.claim, c.err
	default:
	}
	if me.gone = ctx.Err() != nil; !me.gone && looking {
		return nil, fmt.Errorf("%w: the database has not answered", ErrUnknown)
	}
	return nil, ctx.Err()
}

// awaitLook waits at most d until look finds a task; errNothing if it finds none. look is
// called whenever there may be something to find.
func (b *Board) awaitLook(ctx context.Context, a Actor, want Want, d time.Duration, look func() (*Handout, error)) (*Handout, error) {
	me := &waiter{actor: a, ctx: ctx, look: look, found: make(chan found, 1)}
	g := b.enter(want, me)

	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case f := <-me.found:
		return f.handout, f.err
	case <-timer.C:
	case <-b.over:
	case <-a.Ended:
	case <-ctx.Done():
	}
	b.mu.Lock()
	me.gone = true
	b.dismissLocked(g, me)
	looking := me.looking
	b.mu.Unlock()
	if looking { // it may still find something
		f := <-me.found
		return f.handout, f.err
	}
	select {
	case f := <-me.found:
		return f.handout, f.err
	default:
		return nil, errNothing
	}
}

// enter adds a waiter to the end of its group.
func (b *Board) enter(want Want, w *waiter) *group {
	key := strings.Join(want.Projects, " ") + "\n" + strings.Join(want.Skills, " ") + "\n" + want.Lease.String()
	if want.Skills == nil {
		key += "\nany"
	}
	if len(want.Reviews) > 0 {
		key += "\nreviews " + strings.Join(want.Reviews, " ")
	}
	b.mu.Lock()
	g := b.groups[key]
	if g == nil {
		g = &group{key: key, want: want}
		g.want.For = nil
		b.groups[key] = g
	}
	g.waiting = append(g.waiting, w)
	b.mu.Unlock()
	if waiting := b.o.Observer.Waiting; waiting != nil {
		waiting()
	}
	return g
}

// dismissLocked removes a waiter from its group.
func (b *Board) dismissLocked(g *group, w *waiter) {
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	if len(g.waiting) == 0 && b.groups[g.key] == g {
		delete(b.groups, g.key)
	}
}

// serveWaiters looks for work for the waiters, on each wake-up and every second.
func (b *Board) serveWaiters(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		woken := b.Changes()
		b.serveGroups(ctx)
		b.endAbandoned(ctx)
		b.endUnanswered(ctx)
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-tick.C:
		}
	}
}

// serveGroups serves all groups, a few at a time.
func (b *Board) serveGroups(ctx context.Context) {
	b.mu.Lock()
	groups := make([]*group, 0, len(b.groups))
	for _, g := range b.groups {
		groups = append(groups, g)
	}
	b.mu.Unlock()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, g := range groups {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			b.serveGroup(ctx, g)
		})
	}
	wg.Wait()
}

// serveGroup serves the waiters of a group in order, until one of them gets nothing. That
// one moves to the end: it may have declined tasks that the next one has not.
func (b *Board) serveGroup(ctx context.Context, g *group) {
	for looks := 1; ; looks = maxLooks {
		asked := b.head(g, looks)
		if len(asked) == 0 {
			return
		}
		var served int
		if asked[0].look != nil {
			served = b.serveLooks(g, asked)
		} else {
			served = b.serveClaims(ctx, g, asked)
		}
		if served < len(asked) || ctx.Err() != nil {
			return
		}
	}
}

const (
	// maxClaims is how many waiters one statement serves.
	maxClaims = 64
	// maxLooks is how many waiters look at the same time, once one has found something.
	maxLooks = 4
)

// head returns the first waiters of a group that can be served together: up to maxClaims
// without a look, or up to looks with one.
func (b *Board) head(g *group, looks int) []*waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := maxClaims
	if len(g.waiting) > 0 && g.waiting[0].look != nil {
		most = looks
	}
	n := 0
	for n < min(len(g.waiting), most) && (g.waiting[n].look == nil) == (g.waiting[0].look == nil) {
		g.waiting[n].looking = true
		n++
	}
	return slices.Clone(g.waiting[:n])
}

// backLocked moves a waiter to the end, if it is still in the group.
func (g *group) backLocked(w *waiter) {
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = append(slices.Delete(g.waiting, i, i+1), w)
	}
}

// serveLooks lets waiters look concurrently, and returns how many got their result.
func (b *Board) serveLooks(g *group, asked []*waiter) (served int) {
	results := make([]found, len(asked))
	var wg sync.WaitGroup
	for i, w := range asked {
		wg.Go(func() { results[i].handout, results[i].err = w.look() })
	}
	wg.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, w := range asked {
		w.looking = false
		if errors.Is(results[i].err, errNothing) && !w.gone {
			g.backLocked(w)
			continue
		}
		served++
		w.found <- results[i]
		b.dismissLocked(g, w)
	}
	return served
}

// serveClaims claims tasks for waiters with one statement, and returns how many got one.
func (b *Board) serveClaims(ctx context.Context, g *group, asked []*waiter) (served int) {
	want := g.want
	byName := make(map[WorkerID]*waiter, len(asked))
	for _, w := range asked {
		if w.ctx.Err() == nil && !w.actor.hasEnded() && byName[w.who.Worker] == nil {
			byName[w.who.Worker] = w
			want.For = append(want.For, w.who)
		}
	}
	var claims []Claim
	var err error
	if len(want.For) > 0 {
		if claims, err = b.store.Claim(ctx, want); err != nil && ctx.Err() == nil {
			b.o.Logger.Warn("claiming tasks for waiting workers failed", "err", err)
		}
	}
	var undelivered []Claim
	b.mu.Lock()
	for _, claim := range claims {
		w := byName[claim.Worker]
		delete(byName, claim.Worker)
		if w.gone {
			undelivered = append(undelivered, claim)
			continue
		}
		w.claimed <- claimed{claim: &claim}
		b.dismissLocked(g, w)
		served++
	}
	if errors.Is(err, ErrUnknown) {
		// Another statement would bring the others nothing if they have a claim, and they must not be
		// told that there is nothing.
		for _, w := range byName {
			if w.gone {
				b.abandonLocked(grantID{w.who.Worker, w.who.Nonce})
				continue
			}
			w.claimed <- claimed{err: err}
			b.dismissLocked(g, w)
		}
	}
	for _, w := range asked {
		w.looking = false
		if w.leaving && len(w.claimed) == 0 {
			w.claimed <- claimed{}
		}
		g.backLocked(w)
	}
	b.mu.Unlock()
	for _, claim := range undelivered {
		b.undelivered(context.WithoutCancel(ctx), Actor{Principal: boardActor}, claim)
	}
	return served
}
