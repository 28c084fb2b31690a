package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

func clientOptions(r mcp.Revision) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Revision: r,
		Logger:   slog.New(slog.DiscardHandler),
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: []byte(`{"name":"Ada"}`)}, nil
		},
	}
}

func dial(t *testing.T, url string, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c, err := Connect(t.Context(), url, &ClientOptions{Logger: slog.New(slog.DiscardHandler)}, o)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return c
}

// A client over HTTP can do the same in every revision.
func TestClient_everyRevision(t *testing.T) {
	s := newFixture(t)
	url := serve(t, NewHandler(s, nil))
	for _, r := range append(mcp.Revisions(), 0) {
		t.Run(r.String(), func(t *testing.T) {
			c := dial(t, url, clientOptions(r))
			if r == 0 && c.Revision() != mcp.LatestRevision {
				t.Errorf("speaks %s, want the newest", c.Revision())
			}
			if got, err := mcp.CallAs[string](t.Context(), c, "echo", words{"hé\nllo"}, nil); err != nil || got != "hé\nllo" {
				t.Errorf("echo = %q, %v", got, err)
			}
			n := 0
			if _, err := c.Call(t.Context(), "progress", words{"x"}, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { n++ }}); err != nil || n != 2 {
				t.Errorf("progress: %v after %d, want 2", err, n)
			}
			if c.Revision() >= mcp.R20250618 {
				if got, err := mcp.CallAs[string](t.Context(), c, "ask", words{}, nil); err != nil || got != "Hello, Ada!" {
					t.Errorf("ask = %q, %v", got, err)
				}
			}
			if got, err := mcp.CallAs[string](t.Context(), c, "pause", words{}, nil); err != nil || got != "after the pause" {
				t.Errorf("pause = %q, %v", got, err)
			}
			if _, err := c.Read(t.Context(), "test://none", nil); !errors.Is(err, mcp.ErrNotFound) {
				t.Errorf("Read = %v, want ErrNotFound", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := c.Call(ctx, "slow", words{"1h"}, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("slow = %v, want the deadline", err)
			}
			ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			seen := 0
			for e, err := range c.Listen(ctx, mcp.EventFilter{ResourceURIs: []string{"test://r"}}) {
				if err != nil {
					t.Fatal(err)
				}
				if seen++; seen == 2 {
					break
				}
				go func() { // over HTTP the stream may be opened a little later
					for ctx.Err() == nil {
						s.ResourceUpdated(e.Name)
						<-time.After(10 * time.Millisecond)
					}
				}()
			}
			if seen != 2 {
				t.Errorf("heard %d events, want 2", seen)
			}
		})
	}
}

// A session that the server has forgotten is begun anew.
func TestClient_sessionForgotten(t *testing.T) {
	s := newFixture(t)
	var h atomic.Pointer[Handler]
	h.Store(NewHandler(s, nil))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Load().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	c := dial(t, server.URL+"/mcp", clientOptions(mcp.R20251125))
	t.Cleanup(func() { h.Load().Close() })
	old := h.Load()
	s2 := newFixture(t)
	h.Store(NewHandler(s2, nil)) // with other keys
	old.Close()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := fmt.Sprint(i)
			if got, err := mcp.CallAs[string](t.Context(), c, "echo", words{want}, nil); err != nil || got != want {
				t.Errorf("echo = %q, %v", got, err)
			}
		})
	}
	wg.Wait()
}

// Close ends what waits for the server.
func TestClient_closeEndsListening(t *testing.T) {
	s := newFixture(t)
	begun := make(chan struct{}, 2)
	mcp.AddTool(s, mcp.Tool{Name: "wait", Description: "wait"}, func(ctx context.Context, _ *mcp.Call, _ words) (string, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	url := serve(t, NewHandler(s, nil))
	for _, r := range []mcp.Revision{mcp.R20251125, mcp.LatestRevision} {
		c, err := Connect(t.Context(), url, nil, clientOptions(r))
		if err != nil {
			t.Fatal(err)
		}
		heard, called := make(chan error, 1), make(chan error, 1)
		go func() {
			for _, err := range c.Listen(t.Context(), mcp.EventFilter{ResourceURIs: []string{"test://r"}}) {
				if err != nil {
					heard <- err
				} else {
					begun <- struct{}{} // it is told once at the beginning
				}
			}
		}()
		go func() {
			_, err := c.Call(t.Context(), "wait", words{}, nil)
			called <- err
		}()
		<-begun
		<-begun
		began := time.Now()
		if err := c.Close(); err != nil || time.Since(began) > 3*time.Second {
			t.Errorf("in %s: Close = %v after %v", r, err, time.Since(began))
		}
		select {
		case err := <-heard:
			if !errors.Is(err, jsonrpc.ErrClosed) {
				t.Errorf("in %s: Listen = %v, want ErrClosed", r, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("in %s: Listen still waits", r)
		}
		select {
		case err := <-called: // the server may have had the time to say so
			if err == nil {
				t.Errorf("in %s: Call = nil", r)
			}
		case <-time.After(time.Minute):
			t.Fatalf("in %s: Call still waits", r)
		}
	}
}

// oldest is a server of the oldest revision's own transport.
func oldest(t *testing.T, endpoint string) *httptest.Server {
	out := make(chan string, 8)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", endpoint)
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case m := <-out:
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", m)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		switch text := string(b); {
		case strings.Contains(text, `"initialize"`):
			out <- `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"o","version":"1"}}}`
		case strings.Contains(text, `"tools/call"`):
			out <- `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"old"}]}}`
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestClient_oldestTransport(t *testing.T) {
	c := dial(t, oldest(t, "/messages?s=1").URL+"/sse", clientOptions(0))
	if got, err := mcp.CallAs[string](t.Context(), c, "x", nil, nil); err != nil || got != "old" || c.Revision() != mcp.R20241105 {
		t.Errorf("CallAs = %q, %v in %s", got, err, c.Revision())
	}
	if _, err := Connect(t.Context(), oldest(t, "http://169.254.169.254/messages").URL+"/sse", nil, clientOptions(0)); err == nil || !strings.Contains(err.Error(), "on another server") {
		t.Errorf("Connect with an endpoint elsewhere = %v, want a refusal", err)
	}
}

// A server that redirects elsewhere gets none of our headers there.
func TestClient_redirect(t *testing.T) {
	var hits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	if _, err := Connect(t.Context(), s.URL, &ClientOptions{Header: http.Header{"X-Api-Key": {"k"}}}, clientOptions(0)); err == nil || hits.Load() != 0 {
		t.Errorf("Connect = %v with %d requests elsewhere", err, hits.Load())
	}
}

// What a server may answer with is bounded, and what is none of the protocol is told.
func TestClient_strangeServers(t *testing.T) {
	endless := func(w io.Writer, text string) {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	big := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, "text/html"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, "status 202"},
		"JSON without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"`)
			endless(w, big)
		}, "larger than"},
		"an event without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":1,"result":"`)
			endless(w, big)
		}, "too large"},
		"an error page without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			endless(w, big)
		}, "502"},
		"a stream that ends": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": hello\n\n")
		}, "ended before the answer"},
		"another's answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{}}`)
		}, "without an answer"},
		"no message": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`)
		}, "not both"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.serve)
			defer s.Close()
			_, err := Connect(t.Context(), s.URL, nil, clientOptions(mcp.LatestRevision))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Connect = %v, want %s", err, c.want)
			}
		})
	}
}

func TestEventReader(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":                   {"data: a\n\ndata:b\n\n", "a|b|EOF"},
		"over lines":              {"data: a\ndata: b\n\n", "a\nb|EOF"},
		"carriage returns":        {"data: a\r\rdata: b\r\r", "a|b|EOF"},
		"both":                    {"data: a\r\n\r\ndata: b\r\n\r\n", "a|b|EOF"},
		"mixed":                   {"data: a\r\n\ndata: b\n\r", "a|b|EOF"},
		"comments and the like":   {":hello\n\n: x\nfoo: bar\ndata\n\n", "|EOF"},
		"byte order mark":         {"\ufeffdata: a\n\n", "a|EOF"},
		"id with NUL":             {"id: 1\n\nid: a\x00b\ndata: a\n\n", "#1|a#1|EOF"},
		"id stays, then goes":     {"id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "a#7|b#7|c|EOF"},
		"retry":                   {"retry: 500\ndata: a\n\n", "a~500ms|EOF"},
		"retry, at once":          {"retry: 0\ndata: a\n\n", "a~50ms|EOF"},
		"retry, large":            {"retry: 99999999999999999999999\ndata: a\n\n", "a~30s|EOF"},
		"retry, not a number":     {"retry: 1e3\nretry:\nretry: -1\ndata: a\n\n", "a|EOF"},
		"torn":                    {"data: a\n\nid: 9\ndata: b\n", "a|EOF"},
		"too large":               {"data: " + strings.Repeat("x", 2000) + "\n\n", "an event is too large"},
		"too large, in pieces":    {strings.Repeat("data: 0123456789\n", 200) + "\n", "an event is too large"},
		"too large, without end":  {strings.Repeat("x", 5000), "an event is too large"},
		"comments without an end": {strings.Repeat(":"+strings.Repeat("x", 500)+"\n", 100) + "data: a\n\n", "a|EOF"},
	} {
		for _, slow := range []bool{false, true} {
			r := io.Reader(strings.NewReader(c.in))
			if slow {
				r = iotest.OneByteReader(r)
			}
			e := newEventReader(r, 1000)
			var got []string
			for {
				ev, err := e.next()
				if err != nil {
					got = append(got, strings.TrimPrefix(err.Error(), "streamable: "))
					break
				}
				text := string(ev.data)
				if e.id != "" {
					text += "#" + e.id
				}
				if e.retry != defaultRetry {
					text += "~" + e.retry.String()
				}
				got = append(got, text)
			}
			if list := strings.Join(got, "|"); list != c.want {
				t.Errorf("%s, byte by byte %v: %q, want %q", name, slow, list, c.want)
			}
		}
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add([]byte("id: 1\nretry: 10\ndata: a\ndata: b\n\n:c\r\r"))
	f.Fuzz(func(t *testing.T, in []byte) {
		read := func(r io.Reader) (all []string) {
			e := newEventReader(r, 200)
			for {
				ev, err := e.next()
				if err != nil {
					return append(all, err.Error(), e.id, e.retry.String())
				}
				if len(ev.data) > 200+100 {
					t.Fatalf("an event of %d bytes", len(ev.data))
				}
				all = append(all, ev.name+":"+string(ev.data))
			}
		}
		whole := read(strings.NewReader(string(in)))
		pieces := read(iotest.OneByteReader(strings.NewReader(string(in))))
		if a, b := strings.Join(whole, "|"), strings.Join(pieces, "|"); a != b && !strings.Contains(a+b, "too large") {
			t.Errorf("whole %q, in pieces %q", a, b)
		}
	})
}
