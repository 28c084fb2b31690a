package tools

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

const (
	// renewEvery is how often a process on a pipe renews its claims; more often if a
	// lease is short. The board writes only if less than half of a lease is left.
	renewEvery = 20 * time.Second
	// retryRenewal is how soon it tries again if the board cannot be reached. After an
	// outage a lease has as much left as before it, less a second.
	retryRenewal = 2 * time.Second
)

// Run renews the claims of the workers on a pipe and notifies clients of changed
// resources until ctx ends. It then tells the board that the process has left, so that its
// leases end soon. The board's own Run must be running too.
func (t *Tools) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.opened:
	}
	var wg sync.WaitGroup
	if t.piped() {
		wg.Go(func() { t.renewLoop(ctx) })
		wg.Go(func() { t.awaitVerdicts(ctx) })
	}
	t.publishChanges(ctx)
	wg.Wait()
	if t.piped() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		t.giveBack(ctx)
		if err := t.b.Leave(ctx, t.o.Pipe.Owner); err != nil {
			return fmt.Errorf("leave the board: %w", err)
		}
	}
	return ctx.Err()
}

// renewLoop renews the process's claims until ctx ends.
func (t *Tools) renewLoop(ctx context.Context) {
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

// renew renews the process's claims and returns when to do so again.
func (t *Tools) renew(ctx context.Context) time.Duration {
	t.mu.Lock()
	idle, called := time.Since(t.lastCall), t.lastCall.After(t.lastRenewed)
	t.mu.Unlock()
	if idle > board.AbsentAfter { // someone has left it running
		return renewEvery
	}
	given, ended := t.claimCounts()
	if given == ended {
		return renewEvery // nothing to renew: spare the server a request
	}
	renewed := time.Now()
	held, err := t.b.Renew(ctx, t.o.Pipe.Owner, called)
	if err != nil {
		if ctx.Err() == nil {
			t.o.Logger.Warn("claims could not be renewed", "err", err)
		}
		return retryRenewal
	}
	t.mu.Lock()
	t.lastRenewed = renewed
	t.mu.Unlock()
	if len(held) == 0 {
		t.setEnded(given)
	}
	for _, c := range held {
		if err := t.follow(ctx, c); err != nil && ctx.Err() == nil {
			t.o.Logger.Warn("the place of the work could not be noted", "task", c.Task, "err", err)
		}
	}
	return nextRenewal(held)
}

// follow notes where the work of a claim is if its worker has changed branches: if it dies
// before it says anything, its work is looked for there.
func (t *Tools) follow(ctx context.Context, c board.Claim) error {
	if t.o.Inspector == nil || c.IsReview() || !t.o.Inspector.Moved(c.Where) {
		return nil
	}
	at, ok, err := t.placeNow(ctx, c.Worker.Principal, c.Handle, "")
	if err != nil || !ok {
		return err
	}
	return t.b.Locate(ctx, board.Actor{Principal: c.Worker.Principal, Owner: c.Owner, Worker: c.Worker.Name}, c.Handle, at)
}

// keep renews the claims of a caller that has no process on a pipe, at once and until stop is
// called: its call looks at the work, which takes as long as the check.
func (t *Tools) keep(ctx context.Context, k *caller) (stop func()) {
	if t.piped() || k.Owner == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			held, err := t.b.Renew(ctx, k.Owner, true)
			if err != nil && ctx.Err() == nil {
				t.o.Logger.Warn("claims could not be renewed", "err", err)
			}
			timer := time.NewTimer(nextRenewal(held))
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// nextRenewal is when claims have to be renewed again.
func nextRenewal(held []board.Claim) time.Duration {
	next := renewEvery
	for _, c := range held {
		next = min(next, renewPause(c.Lease))
	}
	return next
}

// claimCounts returns how many claims the process was given, and how many of those, the
// earliest ones, are known to have ended.
func (t *Tools) claimCounts() (given, ended int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.given, t.over
}

// setEnded notes that the first given claims have ended.
func (t *Tools) setEnded(given int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = given
}

// renewPause is how often a lease must be renewed. The board renews a claim when less than
// half of its lease is left; a quarter is then still left.
func renewPause(lease time.Duration) time.Duration { return max(lease/4, 100*time.Millisecond) }
