package streamable

import (
	"context"
	"sync/atomic"
	"time"
)

// A Relay carries messages between the replicas that serve the same clients.
// Messages may be lost, duplicated, delayed or reordered. Most are a few
// hundred bytes long; a client's response may be as long as Options.Limits
// allow, plus half of that. Anyone who can write to a Relay can act on behalf
// of its clients.
type Relay interface {
	// Send sends a message to one replica, or to all others if to is empty. It
	// does not wait for them.
	Send(ctx context.Context, to string, message []byte) error
	// Receive calls handle for each message sent to the named replica or to
	// all, until stop is called. handle returns quickly, does not keep the
	// message, and may be called concurrently.
	Receive(name string, handle func(message []byte)) (stop func())
}

const (
	replicaName = 10              // length of a replica's name
	sendTimeout = 2 * time.Second // timeout for Relay.Send

	// Rate limit for the messages that a session sends to other replicas.
	relayBurst    = 64
	relayInterval = 50 * time.Millisecond
)

// A relayQuota limits how much a session may send to other replicas.
type relayQuota struct{ refilled atomic.Int64 } // when the quota is full again, in nanoseconds

// take uses one unit. It returns false if none is left.
func (q *relayQuota) take() bool {
	for {
		old, now := q.refilled.Load(), time.Now().UnixNano()
		next := max(old, now) + int64(relayInterval)
		if next-now > int64(relayBurst*relayInterval) {
			return false
		}
		if q.refilled.CompareAndSwap(old, next) {
			return true
		}
	}
}
