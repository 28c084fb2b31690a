package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"
)

// runAdmin serves what is for whoever runs the server: metrics, profiles, health.
func (s *Server) runAdmin(ctx context.Context, l net.Listener) error {
	if !isLoopback(l.Addr()) {
		s.log.Warn("metrics and profiles are open to other machines, without a key: keep --admin to this machine or to a closed network", "address", l.Addr().String())
	}
	s.log.Info("serving metrics", "address", l.Addr().String())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.tel.Metrics())
	mux.HandleFunc("GET /livez", s.health.live)
	mux.HandleFunc("GET /readyz", s.health.ready)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	srv := &http.Server{Handler: notForPages(mux, isLoopback(l.Addr())), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// notForPages keeps web pages from what is served without a key: whatever says that it
// was sent for one is refused, and on this machine also what is addressed to another.
func notForPages(next http.Handler, thisMachine bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		// The person who types the address into a browser has Sec-Fetch-Site: none.
		site := r.Header.Get("Sec-Fetch-Site")
		if r.Header["Origin"] != nil || site != "" && site != "none" && site != "same-origin" || thisMachine && !isLocalHost(host) {
			http.Error(w, "this Host or Origin is not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocalHost reports whether a host name, or an IPv6 address in brackets, means this
// machine.
func isLocalHost(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
