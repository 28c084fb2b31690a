package streamable

import (
	"sync/atomic"
	"time"
)

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
