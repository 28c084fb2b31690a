package gatewaycli

import (
	"context"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// watchEvery is how often the claims of running calls are looked at.
const watchEvery = time.Second

// A watch tells when claims end under which calls run. It asks the board once a second for all of them, and only
// while there are any. The zero value is ready to use.
type watch struct {
	mu      sync.Mutex
	waiting map[board.Handle]*watched
	running bool
}

// A watched claim is one under which n calls run.
type watched struct {
	n     int
	ended chan struct{}
}

// wait reports true when a claim has ended, and false if ctx ends before that.
func (w *watch) wait(ctx context.Context, b Board, h board.Handle) bool {
	w.mu.Lock()
	if w.waiting == nil {
		w.waiting = map[board.Handle]*watched{}
	}
	c := w.waiting[h]
	if c == nil {
		c = &watched{ended: make(chan struct{})}
		w.waiting[h] = c
	}
	c.n++
	if !w.running {
		w.running = true
		go w.run(b) // ends when no call runs
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.n--; c.n == 0 && w.waiting[h] == c {
			delete(w.waiting, h)
		}
	}()
	select {
	case <-c.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *watch) run(b Board) {
	for {
		time.Sleep(watchEvery)
		w.mu.Lock()
		if len(w.waiting) == 0 {
			w.running = false
			w.mu.Unlock()
			return
		}
		var tasks []board.ID
		watched := map[board.Handle]*watched{}
		for h, c := range w.waiting {
			tasks = append(tasks, h.Task)
			watched[h] = c
		}
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		claims, err := b.Claims(ctx, board.ClaimFilter{Tasks: tasks})
		cancel()
		if err != nil {
			continue // nothing is known; the call has a time limit
		}
		for _, c := range claims {
			delete(watched, c.Handle)
		}
		w.mu.Lock()
		for h, c := range watched {
			if w.waiting[h] == c {
				delete(w.waiting, h)
				close(c.ended)
			}
		}
		w.mu.Unlock()
	}
}
