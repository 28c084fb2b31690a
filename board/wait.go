package board

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// A group is those who wait for the same kind of work: one statement serves them
// all, and at most one is under way.
type group struct {
	key     string
	want    Want // For is empty
	waiting []*waiter
}

// A waiter gets a claim, or nothing.
type waiter struct {
	who   Claimant
	ctx   context.Context
	claim chan Claim // buffered: handing over never waits
	gone  bool       // nobody reads claim any more
}

// await waits for a task. It gives nil if none came in time.
func (b *Board) await(ctx context.Context, want Want, d time.Duration) (*Claim, error) {
	me := &waiter{who: want.For[0], ctx: ctx, claim: make(chan Claim, 1)}
	key := want.For[0].Worker.Principal + "\n" + strings.Join(want.Projects, " ") + "\n" + strings.Join(want.Skills, " ") + "\n" + want.Lease.String()
	if want.Skills == nil {
		key += "\nany"
	}
	b.mu.Lock()
	g := b.groups[key]
	if g == nil {
		g = &group{key: key, want: want}
		g.want.For = nil
		b.groups[key] = g
	}
	g.waiting = append(g.waiting, me)
	b.mu.Unlock()

	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case claim := <-me.claim:
		return &claim, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	me.gone = true
	b.dismissLocked(g, me)
	b.mu.Unlock()
	select {
	case claim := <-me.claim: // it came at the last moment
		return &claim, nil
	default:
		return nil, ctx.Err()
	}
}

// dismissLocked takes a waiter out of its group.
func (b *Board) dismissLocked(g *group, w *waiter) {
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	if len(g.waiting) == 0 && b.groups[g.key] == g {
		delete(b.groups, g.key)
	}
}

// serveWaiters looks for work for those who wait, on a wake-up and every second.
func (b *Board) serveWaiters(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		woken := b.wakened()
		b.serveGroups(ctx)
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-tick.C:
		}
	}
}

// serveGroups asks once for each group, a few groups at a time.
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

func (b *Board) serveGroup(ctx context.Context, g *group) {
	const most = 64 // a statement stays short
	b.mu.Lock()
	want := g.want
	waiting := slices.Clone(g.waiting[:min(len(g.waiting), most)])
	b.mu.Unlock()
	byName := make(map[WorkerID]*waiter, len(waiting))
	for _, w := range waiting {
		if w.ctx.Err() == nil && byName[w.who.Worker] == nil {
			byName[w.who.Worker] = w
			want.For = append(want.For, w.who)
		}
	}
	if len(want.For) == 0 {
		return
	}
	claims, err := b.store.Claim(ctx, want)
	if err != nil {
		if ctx.Err() == nil {
			b.o.Logger.Warn("no work could be looked for", "err", err)
		}
		return
	}
	for _, claim := range claims {
		w := byName[claim.Worker]
		b.mu.Lock()
		gone := w.gone
		if !gone {
			w.claim <- claim
			b.dismissLocked(g, w)
		}
		b.mu.Unlock()
		if gone {
			b.undelivered(context.WithoutCancel(ctx), Actor{Principal: boardActor}, claim)
		}
	}
}
