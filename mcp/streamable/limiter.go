package streamable

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

// A limiter limits concurrent use, in total and for each owner of principals,
// so that one owner cannot starve the others, however many credentials it has.
type limiter struct {
	what    string // what is limited, for refusals
	max     int64  // for all
	maxEach int64  // per owner; zero means no such limit
	total   atomic.Int64

	mu       sync.Mutex
	perOwner map[string]int64 // current use
}

// acquire takes n units for an owner, who must release them. It returns zero,
// or the status to refuse with.
func (l *limiter) acquire(owner string, n int64) int {
	if l.total.Add(n) > l.max {
		l.total.Add(-n)
		return http.StatusServiceUnavailable
	}
	if l.maxEach == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perOwner[owner]+n > l.maxEach {
		l.total.Add(-n)
		return http.StatusTooManyRequests
	}
	l.addLocked(owner, n)
	return 0
}

// refusal explains a status of acquire to the client.
func (l *limiter) refusal(status int) string {
	if status == http.StatusTooManyRequests {
		return fmt.Sprintf("busy: your own %s are at the limit for one owner, %d, all credentials together; wait until some have ended", l.what, l.maxEach)
	}
	return fmt.Sprintf("busy: the %s of all clients are at the limit of this server, %d; try again", l.what, l.max)
}

func (l *limiter) release(owner string, n int64) {
	if n > 0 {
		l.add(owner, -n)
	}
}

// reacquire takes units that were released for a while, regardless of the
// limits.
func (l *limiter) reacquire(owner string, n int64) { l.add(owner, n) }

func (l *limiter) load() int64 { return l.total.Load() }

func (l *limiter) add(owner string, n int64) {
	l.total.Add(n)
	if l.maxEach == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(owner, n)
}

func (l *limiter) addLocked(owner string, n int64) {
	if l.perOwner == nil {
		l.perOwner = map[string]int64{}
	}
	if l.perOwner[owner] += n; l.perOwner[owner] == 0 {
		delete(l.perOwner, owner)
	}
}
