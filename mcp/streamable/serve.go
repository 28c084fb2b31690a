package streamable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/internal/loopback"
	"github.com/bossman-dev/bossman/jsonrpc"
)

const (
	drainTimeout = 10 * time.Second // how long calls may continue after ctx ends
	killTimeout  = time.Second      // how long they may take after they were cancelled
)

// NewHTTPServer returns a server for h with timeouts that stop slow clients but
// allow long responses. If you build your own server, use these settings. Set its
// Addr before ListenAndServe. If h is a Handler, Shutdown ends its event streams.
func NewHTTPServer(h http.Handler) *http.Server {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		// ReadTimeout applies to requests that net/http answers itself. A
		// Handler sets its own deadlines for bodies, and none while a client
		// waits for its response.
		ReadTimeout: 15 * time.Second,
		// WriteTimeout applies to plain responses. Each event of a stream has
		// its own deadline.
		WriteTimeout:   60 * time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	if h, ok := h.(*Handler); ok {
		srv.RegisterOnShutdown(h.Close)
	}
	return srv
}

// Serve serves root on l until ctx ends; root passes the requests for h to it,
// and nil means h itself, at every path. Then it ends event streams and gives
// calls ten seconds to finish before it closes their connections. It returns
// nil in that case. Serve refuses to listen for other machines if h has no
// Authenticate function.
func Serve(ctx context.Context, l net.Listener, h *Handler, root http.Handler) error {
	if root == nil {
		root = h
	}
	if h.o.Authenticate == nil && !loopback.Addr(l.Addr()) {
		l.Close()
		return fmt.Errorf("serve on %s: other machines can connect, but Options.Authenticate is not set", l.Addr())
	}
	srv := NewHTTPServer(root)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	h.Close()
	grace, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		h.log.Warn("closing connections that are still in use", "err", err)
	}
	h.waitIdle(grace) // calls may outlive their connections
	h.cancelBase(jsonrpc.ErrClosed)
	err := srv.Close()
	last, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	h.waitIdle(last)
	h.replicas.close()
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// waitIdle waits until no request is in flight, or ctx ends.
func (h *Handler) waitIdle(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for h.inFlight.load() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
