package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// healthCache is how long a result of the database check is reused.
	healthCache = time.Second
	// healthTimeout is how long the database has to answer.
	healthTimeout = 3 * time.Second
)

// health answers the health checks of load balancers. It reveals nothing else, so it needs
// no key.
type health struct {
	check    func(context.Context) error
	draining atomic.Bool

	mu   sync.Mutex
	at   time.Time
	last error
}

// live reports that the process runs.
func (h *health) live(w http.ResponseWriter, _ *http.Request) { answerHealth(w, "") }

// ready reports whether the server can serve requests now.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.draining.Load():
		answerHealth(w, "this replica is ending")
	case h.database(r.Context()) != nil:
		answerHealth(w, "the database is away")
	default:
		answerHealth(w, "")
	}
}

func (h *health) drain() { h.draining.Store(true) }

func (h *health) database(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) > healthCache {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
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
