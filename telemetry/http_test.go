package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bossman-dev/bossman/telemetry"
)

func serveOnce(b *bench) {
	h := b.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), nil)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}

// TestHTTP counts answers of every class, and lets streams through.
func TestHTTP(t *testing.T) {
	b := newBench(t, telemetry.Options{})
	first := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/none", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/text", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") })
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
	})
	mux.HandleFunc("/panic", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "1")
		w.(http.Flusher).Flush()
		<-first
		_, _ = io.WriteString(w, "2")
	})
	server := httptest.NewServer(b.HTTP(mux, nil))
	defer server.Close()
	for _, path := range []string{"/none", "/text", "/early", "/panic", "/absent"} {
		if res, err := http.Post(server.URL+path, "", nil); err == nil { // a GET would be repeated
			_ = res.Body.Close()
		}
	}
	res, err := http.Get(server.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, 1)); err != nil { // before the handler has ended
		t.Fatal(err)
	}
	close(first)
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	server.Close() // which waits for the handlers
	all := scrape(t, b.Telemetry)
	wantSeries(t, all, `bossman_http_requests_total{code="2xx"}`, 3)
	wantSeries(t, all, `bossman_http_requests_total{code="4xx"}`, 2)
	wantSeries(t, all, `bossman_http_requests_total{code="5xx"}`, 1)
}
