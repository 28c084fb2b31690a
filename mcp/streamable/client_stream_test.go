package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// sessions is a server of a session, by hand. What it does with a call and with
// the stream for what belongs to no request is the test's. A session that it forgets
// it refuses as many do, which is not as they should.
func sessions(t *testing.T, forgets *atomic.Value, call, stream http.HandlerFunc) (url string, begun *atomic.Int32) {
	h, begun := sessionHandler(forgets, call, stream)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, begun
}

func sessionHandler(forgets *atomic.Value, call, stream http.HandlerFunc) (_ http.Handler, begun *atomic.Int32) {
	begun = &atomic.Int32{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body := string(b)
		switch {
		case r.Method == http.MethodGet:
			stream(w, r)
		case r.Method == http.MethodDelete:
		case strings.Contains(body, `"initialize"`):
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", begun.Add(1)))
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"o","version":"1"}}}`, idOf(body))
		case forgets != nil && forgets.Load() == r.Header.Get("Mcp-Session-Id"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
		case strings.Contains(body, `"ping"`):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, idOf(body))
		case strings.Contains(body, `"tools/call"`):
			r.Body = io.NopCloser(strings.NewReader(body))
			call(w, r)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}), begun
}

func idOf(body string) string {
	id := body[strings.Index(body, `"id":`)+5:]
	return id[:strings.IndexAny(id, ",}")]
}

func noStream(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }

// A call whose stream broke has been made: it is not made again, whatever becomes
// of the session.
func TestClient_resumeForgotten(t *testing.T) {
	var calls atomic.Int32
	url, _ := sessions(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 1\nid: 1\ndata:\n\n")
	}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-Id") == "" {
			noStream(w, r)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	c := dial(t, url, clientOptions(mcp.R20251125))
	_, err := c.Call(t.Context(), "pay", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "cannot be resumed") || calls.Load() != 1 {
		t.Errorf("Call = %v, after %d calls", err, calls.Load())
	}
}

// The stream for what belongs to no request is taken up as often as it breaks, and
// whoever listens is told that something may be missing.
func TestClient_streamBreaks(t *testing.T) {
	var opened atomic.Int32
	var forgets atomic.Value
	url, begun := sessions(t, &forgets, nil, func(w http.ResponseWriter, r *http.Request) {
		n := opened.Add(1)
		switch {
		case n > maxResumes+2 && r.Header.Get("Mcp-Session-Id") == "s1":
			forgets.Store("s1")
			w.WriteHeader(http.StatusNotFound) // the server has begun anew
			return
		case n == 2:
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		if r.Header.Get("Mcp-Session-Id") == "s2" {
			<-r.Context().Done()
		}
	})
	c := dial(t, url, clientOptions(mcp.R20251125))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := 0
	for e, err := range c.Listen(ctx, mcp.EventFilter{Tools: true}) {
		if err != nil || e.Kind != mcp.EventTools {
			t.Fatalf("Listen = %v, %v", e, err)
		}
		if again++; begun.Load() == 2 && opened.Load() > maxResumes+2 {
			break
		}
	}
	if again < 3 || begun.Load() != 2 {
		t.Errorf("told %d times, in %d sessions", again, begun.Load())
	}
}

// A session that the server has forgotten is begun anew, also if the server does
// not say so as it should; what was refused for another reason is not sent again.
func TestClient_sessionUnknown(t *testing.T) {
	var forgets atomic.Value
	var calls atomic.Int32
	url, begun := sessions(t, &forgets, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if calls.Add(1) == 2 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, idOf(string(b)))
	}, noStream)
	c := dial(t, url, clientOptions(mcp.R20251125))
	forgets.Store("s1")
	if _, err := c.Call(t.Context(), "x", nil, nil); err != nil || begun.Load() != 2 {
		t.Errorf("Call = %v, in session %d", err, begun.Load())
	}
	if _, err := c.Call(t.Context(), "x", nil, nil); err == nil || begun.Load() != 2 || calls.Load() != 2 {
		t.Errorf("Call = %v, in session %d, after %d calls", err, begun.Load(), calls.Load())
	}
}

// A server without that stream may say so with any status.
func TestClient_noStream(t *testing.T) {
	var opened atomic.Int32
	url, begun := sessions(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	}, func(w http.ResponseWriter, _ *http.Request) {
		opened.Add(1)
		w.WriteHeader(http.StatusNotFound)
	})
	c := dial(t, url, clientOptions(mcp.R20251125))
	if _, err := c.Call(t.Context(), "x", nil, nil); err != nil {
		t.Fatal(err)
	}
	if opened.Load() != 1 || begun.Load() != 1 {
		t.Errorf("opened %d times in %d sessions, want one", opened.Load(), begun.Load())
	}
}

// Whoever listens hears that there is nothing more to hear, but not before the server
// has had some time to come back, however short a pause it asked for.
func TestClient_streamForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened, began := 0, time.Now()
		h, _ := sessionHandler(nil, nil, func(w http.ResponseWriter, _ *http.Request) {
			if opened++; opened > 1 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "retry: 0\n\n")
		})
		serve := tripper(func(r *http.Request) (*http.Response, error) {
			if r.Body == nil {
				r.Body = http.NoBody
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Result(), nil
		})
		c, err := Connect(t.Context(), "http://example.com/mcp", &ClientOptions{Transport: serve}, clientOptions(mcp.R20251125))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range 2 {
			told := error(nil)
			for _, err := range c.Listen(t.Context(), mcp.EventFilter{Tools: true}) {
				told = err
			}
			if told == nil || !strings.Contains(told.Error(), "could not be resumed") {
				t.Errorf("Listen = %v", told)
			}
		}
		if took := time.Since(began); opened != 1+maxResumes || took < 30*time.Second {
			t.Errorf("given up after %v, having tried %d times", took, opened)
		}
	})
}

// A redirect that would make another request of ours is not followed.
func TestClient_redirectChangesMethod(t *testing.T) {
	var gets atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /mcp/", func(http.ResponseWriter, *http.Request) { gets.Add(1) })
	mux.Handle("POST /mcp", http.RedirectHandler("/mcp/", http.StatusMovedPermanently))
	s := httptest.NewServer(mux)
	defer s.Close()
	_, err := Connect(t.Context(), s.URL+"/mcp", nil, clientOptions(0))
	if err == nil || !strings.Contains(err.Error(), "redirected to "+s.URL+"/mcp/") || gets.Load() != 0 {
		t.Errorf("Connect = %v, after %d GET", err, gets.Load())
	}
}

// A question that belongs to a call ends with it, or when the server takes it back.
func TestClient_questionEnds(t *testing.T) {
	for _, taken := range []bool{false, true} {
		asks := make(chan struct{})
		url, _ := sessions(t, nil, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`+"\n\n")
			_ = http.NewResponseController(w).Flush()
			<-asks
			if taken {
				_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`+"\n\n")
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		}, noStream)
		ended := make(chan struct{})
		o := clientOptions(mcp.R20251125)
		o.Elicit = func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			close(asks)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}
		c := dial(t, url, o)
		ctx, cancel := context.WithCancel(t.Context())
		called := make(chan error)
		go func() {
			_, err := c.Call(ctx, "x", nil, nil)
			called <- err
		}()
		<-asks
		if !taken {
			cancel()
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("taken back %v: the person is still asked", taken)
		}
		cancel()
		<-called
	}
}

// An answer of the person's reaches a server that is slow to take it.
func TestClient_slowToHear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	heard := make(chan struct{})
	asked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		switch body := string(b); {
		case r.Method != http.MethodPost:
			noStream(w, r)
		case strings.Contains(body, `"initialize"`):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"o","version":"1"}}}`, idOf(body))
		case strings.Contains(body, `"tools/call"`):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`+"\n\n")
			_ = http.NewResponseController(w).Flush()
			<-heard
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n\n", idOf(body))
		case strings.Contains(body, `"accept"`):
			select {
			case <-time.After(2500 * time.Millisecond):
				close(heard)
			case <-r.Context().Done():
				t.Error("the answer was given up")
			}
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(asked.Close)
	c := dial(t, asked.URL, clientOptions(mcp.R20251125))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Call(ctx, "x", nil, nil); err != nil {
		t.Errorf("Call = %v", err)
		close(heard)
	}
}
