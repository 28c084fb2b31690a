package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// healthFor is how long an answer about the database is good.
	healthFor = time.Second
	// healthWithin is how long the database has to answer.
	healthWithin = 3 * time.Second
)

// health tells load balancers how the server is. It says nothing else, so nobody is
// asked for a key.
type health struct {
	check    func(context.Context) error
	draining atomic.Bool

	mu   sync.Mutex
	at   time.Time
	last error
}

// live: the process runs.
func (h *health) live(w http.ResponseWriter, _ *http.Request) { answerHealth(w, "") }

// ready: it can serve now.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.draining.Load():
		answerHealth(w, "this replica is ending")
	case h.database(r.Context()) != nil:
		answerHealth(w, "the database cannot be used")
	default:
		answerHealth(w, "")
	}
}

func (h *health) drain() { h.draining.Store(true) }

func (h *health) database(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) > healthFor {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthWithin)
		defer cancel()
		h.last = h.check(ctx)
		h.at = time.Now()
	}
	return h.last
}

func answerHealth(w http.ResponseWriter, trouble string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if trouble != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(trouble + "\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
