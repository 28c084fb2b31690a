// Package replicatest tests implementations of what the replicas of a server
// share: tasks, session states, the bus and the relay.
package replicatest

import (
	"errors"
	"testing"
	"time"
)

// timeout is how long a test waits for something that must happen.
const timeout = 20 * time.Second

// errRefused is the error of a change that must not be stored.
var errRefused = errors.New("refused")

// await returns the next value, or fails the test.
func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(timeout):
		t.Fatalf("no %s within the time limit", what)
		panic("unreachable")
	}
}
