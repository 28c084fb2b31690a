package gateway

import (
	"errors"
	"fmt"
	"time"
)

var (
	errBusy    = errors.New("too many calls wait for it")
	errStopped = errors.New("the gateway is stopping")
)

// A lostError says why a call was cancelled while it ran: its claim has ended, or it asked too much.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }

// A startError says why an upstream cannot be used, and when it is tried again.
type startError struct {
	upstream string
	err      error
	retry    time.Duration // until the next attempt; zero: it is being started
}

func (e *startError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("the server %s is still starting; call again", e.upstream)
	}
	return fmt.Sprintf("the server %s could not be started: %v; the next attempt is in %s", e.upstream, e.err, max(e.retry, time.Second).Round(time.Second))
}

func (e *startError) Unwrap() error { return e.err }
