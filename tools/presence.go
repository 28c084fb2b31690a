package tools

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// renewEvery is how often a pipe's process shows that it is there, or oftener
	// where leases are short; the board writes only where less than half of a lease
	// is left.
	renewEvery = 20 * time.Second
	// absentAfter is how long a process may be without a call before its presence
	// counts no longer: somebody has left it running.
	absentAfter = 2 * time.Hour
)

// Run shows the presence of a pipe's process, so that its workers keep what they
// hold, and tells clients of changes, until ctx ends. Then it says that the process
// has left. It needs the board's own Run beside it.
func (t *Tools) Run(ctx context.Context) error {
	if t.o.Missing != nil {
		<-ctx.Done()
		return ctx.Err()
	}
	var wg sync.WaitGroup
	if t.piped() {
		wg.Go(func() { t.stay(ctx) })
	}
	t.follow(ctx)
	wg.Wait()
	if t.piped() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := t.b.Leave(ctx, t.o.Pipe.Owner); err != nil {
			return fmt.Errorf("leave the board: %w", err)
		}
	}
	return ctx.Err()
}

// stay renews what the process holds.
func (t *Tools) stay(ctx context.Context) {
	timer := time.NewTimer(renewEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.short:
		case <-timer.C:
		}
		timer.Reset(t.renew(ctx))
	}
}

// renew is a sign of life, and says when the next is due.
func (t *Tools) renew(ctx context.Context) time.Duration {
	t.mu.Lock()
	quiet := time.Since(t.lastCall)
	t.mu.Unlock()
	if quiet > absentAfter {
		return renewEvery
	}
	grants, known := t.grants()
	if grants == known {
		return renewEvery // it holds nothing: a server has others to listen to
	}
	held, err := t.b.Renew(ctx, t.o.Pipe.Owner)
	if err != nil && ctx.Err() == nil {
		t.o.Logger.Warn("claims could not be renewed", "err", err)
	}
	if err == nil && len(held) == 0 {
		t.ended(grants)
	}
	next := renewEvery
	for _, c := range held {
		next = min(next, renewPause(c.Lease))
	}
	return next
}

// grants is how many claims the process was given, and how many of the first ones are
// known to have ended.
func (t *Tools) grants() (given, ended int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.given, t.over
}

func (t *Tools) ended(given int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = given
}

// renewPause is how often a lease has to be looked at: a claim is renewed when less
// than half is left, and then a quarter still is.
func renewPause(lease time.Duration) time.Duration { return max(lease/4, 100*time.Millisecond) }
