package streamable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

const (
	drainFor  = 10 * time.Second // what calls get when the program ends
	lastWords = time.Second      // what they get after they have been told so
)

// HTTPServer is a server for h with timeouts that stop slow clients and let long
// answers be. Who makes a server of their own does well to take these settings.
func HTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		// The ReadTimeout is for what net/http answers itself. A Handler sets its own
		// deadlines for reading bodies, and none while a client waits for its answer.
		ReadTimeout: 15 * time.Second,
		// The WriteTimeout is for refusals and plain answers; every event of a stream
		// has its own.
		WriteTimeout:   60 * time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

// Serve serves h on l until ctx ends. Then streams of events are ended and calls
// get ten seconds to finish; who is not done by then is cut off. That is an
// ordinary end, and returns nil. Serve refuses to serve other machines if the
// handler authenticates nobody.
func Serve(ctx context.Context, l net.Listener, h *Handler) error { return ServeWith(ctx, l, h, h) }

// ServeWith is Serve for a program that has more to serve: root gets every request,
// and hands on to h what is for it.
func ServeWith(ctx context.Context, l net.Listener, h *Handler, root http.Handler) error {
	if h.o.Authenticate == nil && !isLoopbackAddr(l.Addr()) {
		l.Close()
		return fmt.Errorf("serve on %s: other machines can connect, but Options.Authenticate is not set", l.Addr())
	}
	srv := HTTPServer(root)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	h.Close()
	grace, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		h.log.Warn("clients are cut off", "err", err)
	}
	h.idle(grace) // calls may outlive their connections
	h.kill(jsonrpc.ErrClosed)
	err := srv.Close()
	last, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	h.idle(last)
	h.replicas.leave()
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// idle waits until nothing is handled, or ctx ends.
func (h *Handler) idle(ctx context.Context) {
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
