package streamable

import (
	"net/http"
	"sync"
	"sync/atomic"
)

// A meter counts something that is limited: for all together, and for each
// principal, so that one of them does not take it from the others.
type meter struct {
	most int64 // for all
	each int   // for one principal; zero: they are not told apart
	all  atomic.Int64

	mu sync.Mutex
	of map[string]int // what each principal has, if any
}

// take takes one for a principal, who gives it back. If there is none, it returns
// the status to refuse with, else zero.
func (m *meter) take(principal string) int {
	if m.all.Add(1) > m.most {
		m.all.Add(-1)
		return http.StatusServiceUnavailable
	}
	if m.each == 0 {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[principal] >= m.each {
		m.all.Add(-1)
		return http.StatusTooManyRequests
	}
	m.addLocked(principal, 1)
	return 0
}

func (m *meter) give(principal string) { m.add(principal, -1) }

// retake takes one that was given back for a while, even if there is none.
func (m *meter) retake(principal string) { m.add(principal, 1) }

func (m *meter) load() int64 { return m.all.Load() }

func (m *meter) add(principal string, n int) {
	m.all.Add(int64(n))
	if m.each == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addLocked(principal, n)
}

func (m *meter) addLocked(principal string, n int) {
	if m.of == nil {
		m.of = map[string]int{}
	}
	if m.of[principal] += n; m.of[principal] == 0 {
		delete(m.of, principal)
	}
}
