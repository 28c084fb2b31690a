package telemetry

import (
	"context"
	"net/http"
	"sync/atomic"
)

type transportKey struct{}

// A httpRequest is a request as its handler sees it in the context.
type httpRequest struct {
	audited atomic.Bool // the audit stream has a line of it
}

// transportOf returns the transport of a request. Only the HTTP handler marks
// its context.
func transportOf(ctx context.Context) string {
	if ctx.Value(transportKey{}) != nil {
		return transportTCP
	}
	return transportPipe
}

// A Sender is what is known about the sender of a request that was refused: its address, and the id of the key that it presented.
type Sender struct{ Address, Key string }

// HTTP counts requests by status class, and marks them as coming over the
// network, for spans. A request refused with 401 or 403 gets a line with its sender
// in the audit stream; if there are many in a second, only the first one.
func (t *Telemetry) HTTP(next http.Handler, sender func(*http.Request) Sender) http.Handler {
	classes := [...]string{1: "1xx", 2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, seen := &statusWriter{ResponseWriter: w}, &httpRequest{}
		defer func() { // also after a panic
			class := s.status / 100
			if s.status == 0 {
				class = 2 // nothing was written; net/http sends 200
			}
			if class > 0 && class < len(classes) {
				t.m.http.WithLabelValues(classes[class]).Inc()
			}
			if t.audit != nil && !seen.audited.Load() && (s.status == http.StatusUnauthorized || s.status == http.StatusForbidden) {
				t.audit.addRefused(s.status, sender(r))
			}
		}()
		next.ServeHTTP(s, r.WithContext(context.WithValue(r.Context(), transportKey{}, seen)))
	})
}

// A statusWriter records the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status < 200 { // 1xx responses are not final
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status < 200 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap supports http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
