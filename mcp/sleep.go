package mcp

import (
	"context"
	"time"
)

// backoff doubles with each round, from 0.1 to 30 seconds.
func backoff(round int) time.Duration {
	return min(100*time.Millisecond<<min(round, 10), 30*time.Second)
}

// sleep waits for d, or returns the cause if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
