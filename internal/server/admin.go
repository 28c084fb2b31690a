package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/bossman-dev/bossman/internal/loopback"
)

// runAdmin serves metrics, profiles and health checks to operators, without a key.
func (s *Server) runAdmin(ctx context.Context, l net.Listener) error {
	if !loopback.Addr(l.Addr()) {
		s.log.Warn("metrics and profiles are open to other machines without a key: use --admin on this machine or a closed network only", "address", l.Addr().String())
	}
	s.log.Info("serving metrics", "address", l.Addr().String())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.tel.Metrics())
	mux.HandleFunc("GET /livez", s.health.live)
	mux.HandleFunc("GET /readyz", s.health.ready)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	srv := &http.Server{Handler: refusePages(mux, loopback.Addr(l.Addr())), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// refusePages refuses requests that a browser sends for a web page, since no key is needed
// here. With local set it also refuses requests for any host but this machine.
func refusePages(next http.Handler, local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		// A person who types the address into a browser sends Sec-Fetch-Site: none.
		site := r.Header.Get("Sec-Fetch-Site")
		if r.Header["Origin"] != nil || site != "" && site != "none" && site != "same-origin" || local && !loopback.Host(host) {
			http.Error(w, "this Host or Origin is not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
