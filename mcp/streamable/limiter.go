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
func (m *limiter) acquire(principal string) int {
	if m.total.Add(1) > m.max {
		m.total.Add(-1)
		return http.StatusServiceUnavailable
	}
	if m.maxEach == 0 {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.perPrincipal[principal] >= m.maxEach {
		m.total.Add(-1)
		return http.StatusTooManyRequests
	}
	m.addLocked(principal, 1)
	return 0
}

func (m *limiter) release(principal string) { m.add(principal, -1) }

// reacquire takes a unit that was released for a while, regardless of the
// limits.
func (m *limiter) reacquire(principal string) { m.add(principal, 1) }

func (m *limiter) load() int64 { return m.total.Load() }

func (m *limiter) add(principal string, n int) {
	m.total.Add(int64(n))
	if m.maxEach == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addLocked(principal, n)
}

func (m *limiter) addLocked(principal string, n int) {
	if m.perPrincipal == nil {
		m.perPrincipal = map[string]int{}
	}
	if m.perPrincipal[principal] += n; m.perPrincipal[principal] == 0 {
		delete(m.perPrincipal, principal)
	}
}
