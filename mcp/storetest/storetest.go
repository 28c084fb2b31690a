// Package storetest has the suites for what replicas of a server share: the durable
// calls, the states of sessions, the bus and the relay. Each passes in memory and in
// a database alike.
package storetest

import (
	"errors"
	"testing"
	"time"
)

// patience is how long a suite waits for what must come.
const patience = 20 * time.Second

// errRefused is what a change returns that must not be kept.
var errRefused = errors.New("refused")

// await gives the next value, or fails the test.
func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}
