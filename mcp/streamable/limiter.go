package streamable

import (
	"net/http"
	"sync"
	"sync/atomic"
)

// A limiter limits concurrent use, in total and for each principal, so that one
// principal cannot starve the others.
type limiter struct {
	max     int64 // for all
	maxEach int   // per principal; zero means no such limit
	total   atomic.Int64

	mu           sync.Mutex
	perPrincipal map[string]int // current use
}

// acquire takes one unit for a principal, who must release it. It returns zero,
// or the status to refuse with.
func (l *limiter) acquire(principal string) int {
	if l.total.Add(1) > l.max {
		l.total.Add(-1)
		return http.StatusServiceUnavailable
	}
	if l.maxEach == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perPrincipal[principal] >= l.maxEach {
		l.total.Add(-1)
		return http.StatusTooManyRequests
	}
	l.addLocked(principal, 1)
	return 0
}

func (l *limiter) release(principal string) { l.add(principal, -1) }

// reacquire takes a unit that was released for a while, regardless of the
// limits.
func (l *limiter) reacquire(principal string) { l.add(principal, 1) }

func (l *limiter) load() int64 { return l.total.Load() }

func (l *limiter) add(principal string, n int) {
	l.total.Add(int64(n))
	if l.maxEach == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(principal, n)
}

func (l *limiter) addLocked(principal string, n int) {
	if l.perPrincipal == nil {
		l.perPrincipal = map[string]int{}
	}
	if l.perPrincipal[principal] += n; l.perPrincipal[principal] == 0 {
		delete(l.perPrincipal, principal)
	}
}
