package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/faults/history"
)

// hold claims n tasks, each for an agent with an owner of its own, renews the claims as a
// laptop does until ctx ends, and then reports the tasks done.
func hold(ctx context.Context, b *board.Board, out *output, name string, n int, lease time.Duration) {
	agents := make([]*agent, n)
	claims := make([]board.Handle, n)
	var wg sync.WaitGroup
	for i := range agents {
		a := &agent{
			b: b, out: out, lease: lease, name: fmt.Sprintf("%s.%d", name, i),
			actor: board.Actor{Principal: "local", Owner: fmt.Sprintf("%s.%d.%d", name, os.Getpid(), i)},
		}
		h := a.claim(ctx)
		if h == nil {
			return
		}
		agents[i], claims[i] = a, h.Claim.Handle
	}
	for i, a := range agents {
		wg.Go(func() {
			a.renew(ctx, claims[i])
			a.done(context.WithoutCancel(ctx), claims[i])
		})
	}
	wg.Wait()
}

// renew renews a claim until ctx ends, and notes if it is lost.
func (a *agent) renew(ctx context.Context, h board.Handle) {
	next := min(a.lease/6, 5*time.Second)
	for {
		wait := next
		held, err := a.b.Renew(ctx, a.actor.Owner, false)
		if err != nil {
			wait = min(next, 2*time.Second)
		}
		if err == nil && !slices.ContainsFunc(held, func(c board.Claim) bool { return c.Handle == h }) {
			a.no++
			a.out.write(history.Op{Client: a.name, No: a.no, Kind: history.Note, Claim: h.String(), Out: history.Lost, Call: time.Now().UnixNano(), Return: time.Now().UnixNano()})
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
