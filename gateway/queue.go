package gateway

import (
	"context"
	"slices"
	"sync"
)

// maxWaiting is the number of calls that wait for an upstream. Further ones are refused.
const maxWaiting = 64

// A queue limits the concurrent calls of an upstream. Workers take turns, so that one with many
// calls does not keep the others waiting.
type queue struct {
	mu      sync.Mutex
	max     int
	running int
	waiting []*turn // of each worker in order; the workers by whose turn it is
	count   int
}

// A turn is the calls of one worker that wait.
type turn struct {
	worker string
	calls  []chan struct{} // each is closed when it may run
}

// acquire waits until a call of a worker may run. It returns errBusy if too many wait already. The
// caller must call release.
func (q *queue) acquire(ctx context.Context, worker string) error {
	q.mu.Lock()
	if q.running < q.max && q.count == 0 {
		q.running++
		q.mu.Unlock()
		return nil
	}
	if q.count >= maxWaiting {
		q.mu.Unlock()
		return errBusy
	}
	ready := make(chan struct{})
	i := slices.IndexFunc(q.waiting, func(t *turn) bool { return t.worker == worker })
	if i < 0 {
		q.waiting = append(q.waiting, &turn{worker: worker})
		i = len(q.waiting) - 1
	}
	q.waiting[i].calls = append(q.waiting[i].calls, ready)
	q.count++
	q.startLocked()
	q.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, t := range q.waiting {
		if j := slices.Index(t.calls, ready); j >= 0 {
			t.calls = slices.Delete(t.calls, j, j+1)
			q.count--
			if len(t.calls) == 0 {
				q.waiting = slices.Delete(q.waiting, i, i+1)
			}
			return context.Cause(ctx)
		}
	}
	q.running-- // it was started meanwhile
	q.startLocked()
	return context.Cause(ctx)
}

func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.startLocked()
}

// limit lowers the number of concurrent calls.
func (q *queue) limit(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.max = min(q.max, n)
}

// startLocked starts calls while there is room, one of each worker at a time.
func (q *queue) startLocked() {
	for q.running < q.max && len(q.waiting) > 0 {
		t := q.waiting[0]
		q.waiting = q.waiting[1:]
		close(t.calls[0])
		t.calls = t.calls[1:]
		q.running++
		q.count--
		if len(t.calls) > 0 {
			q.waiting = append(q.waiting, t)
		}
	}
}
