package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait inside a front.
const patience = 50 * time.Second

const sessionHeader = "Mcp-Session-Id"

// A front stands before a [Service] as the tee does before a server on a pipe:
// it passes everything on as it comes and keeps a record.
//
// Where the record of the tee has the process, this one has a number for each
// session, and for each request that belongs to none, so that clients may use
// the same ids.
type front struct {
	proxy *httputil.ReverseProxy
	path  string // of the endpoint; whatever else is asked for is not recorded

	mu       sync.Mutex
	log      *os.File
	last     int
	sessions map[string]int

	gate    int // calls that are still to come before any goes on
	gateful chan struct{}
}

// Front opens an address for this test through which clients reach s, and the
// record of what they say there. With together > 0, the first calls of tools
// wait for each other until so many have come, and go on at the same moment.
func (s *Service) Front(t testing.TB, together int) (string, *Record) {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	rec := &Record{path: filepath.Join(t.TempDir(), "conversation.jsonl")}
	f := &front{
		path: target.Path, sessions: map[string]int{},
		gate: together, gateful: make(chan struct{}),
	}
	if f.log, err = os.OpenFile(rec.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		t.Fatal(err)
	}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		},
		FlushInterval:  -1,
		ModifyResponse: f.answer,
		ErrorLog:       log.New(io.Discard, "", 0), // clients that leave are no news
	}
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = f.log.Close()
		if t.Failed() {
			t.Logf("the end of the conversation:\n%s", rec.tail(12))
		}
	})
	return server.URL + target.Path, rec
}

type conversationKey struct{}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != f.path {
		f.proxy.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))

	n := f.conversation(r.Header.Get(sessionHeader))
	ctx := context.WithValue(r.Context(), conversationKey{}, n)
	if len(body) > 0 {
		f.put(line{PID: n, From: "client", Line: string(body)})
	}
	var m struct{ Method string }
	if json.Unmarshal(body, &m) == nil && m.Method == "tools/call" {
		f.wait(ctx)
	}
	f.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// answer records what the server answers while the client reads it.
func (f *front) answer(res *http.Response) error {
	n, ok := res.Request.Context().Value(conversationKey{}).(int)
	if !ok {
		return nil
	}
	if id := res.Header.Get(sessionHeader); id != "" {
		f.mu.Lock()
		f.sessions[id] = n
		f.mu.Unlock()
	}
	put := func(data []byte) { f.put(line{PID: n, From: "server", Line: string(data)}) }
	switch kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); kind {
	case "application/json":
		b, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		var m message
		if _ = json.Unmarshal(b, &m); m.ID == nil && m.Method == "" {
			// It refuses the HTTP request and answers no message.
			f.put(line{PID: n, From: "http", Line: string(b)})
		} else {
			put(b)
		}
		res.Body = io.NopCloser(bytes.NewReader(b))
	case "text/event-stream":
		res.Body = &events{ReadCloser: res.Body, put: put}
	}
	return nil
}

// conversation is the number of a session, or a new one.
func (f *front) conversation(session string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, ok := f.sessions[session]; ok {
		return n
	}
	f.last++
	return f.last
}

func (f *front) put(l line) {
	b, err := json.Marshal(l)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.log.Write(append(b, '\n'))
}

// wait keeps a call back until enough others have come, if that was asked for.
func (f *front) wait(ctx context.Context) {
	f.mu.Lock()
	if f.gate == 0 {
		f.mu.Unlock()
		return
	}
	if f.gate--; f.gate == 0 {
		close(f.gateful)
	}
	f.mu.Unlock()
	select {
	case <-f.gateful:
	case <-ctx.Done():
	case <-time.After(patience):
	}
}

// Events takes the data out of a stream of events while it is read.
type events struct {
	io.ReadCloser
	put  func([]byte)
	rest []byte
	data []byte
}

func (e *events) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	e.rest = append(e.rest, p[:n]...)
	for {
		line, rest, found := bytes.Cut(e.rest, []byte("\n"))
		if !found {
			return n, err
		}
		e.rest = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			// A priming event has no data.
			if len(e.data) > 0 {
				e.put(e.data)
			}
			e.data = nil
			continue
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			e.data = append(e.data, bytes.TrimPrefix(data, []byte(" "))...)
		}
	}
}
