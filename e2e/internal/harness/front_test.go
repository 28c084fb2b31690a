package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Two sessions and a request of its own, all with id 1, one of them answered in a
// stream of events.
func TestFront(t *testing.T) {
	var sessions int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == "GET":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`)
		case strings.Contains(string(body), "initialize"):
			sessions++
			w.Header().Set(sessionHeader, fmt.Sprint("s", sessions))
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-0%d-01"}}`, sessions)
		case r.Header.Get(sessionHeader) == "s2":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 1\ndata: \n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n"+
				"event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\r\ndata: \"result\":{}}\r\n\r\n")
		default:
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		}
	}))
	defer server.Close()
	url, rec := (&Service{URL: server.URL + "/mcp"}).Front(t, 3)
	ask := func(method, session, body string) {
		r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		if session != "" {
			r.Header.Set(sessionHeader, session)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
	}

	ask("GET", "", "")
	ask("POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	ask("POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}`
	var wg sync.WaitGroup
	wg.Go(func() { ask("POST", "s1", call) })
	wg.Go(func() { ask("POST", "s2", call) })
	wg.Go(func() {
		ask("POST", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{"`+protocolVersion+`":"2026-07-28"}}}`)
	})
	wg.Wait()

	var revisions []string
	for _, e := range rec.Exchanges(t) {
		if e.Result == nil {
			t.Errorf("%s in %s has no result", e.Method, e.Revision)
		}
		if e.Method == "tools/call" {
			revisions = append(revisions, e.Revision)
		}
	}
	slices.Sort(revisions)
	if want := []string{"2025-01-01", "2025-02-01", "2026-07-28"}; !slices.Equal(revisions, want) {
		t.Errorf("revisions of the calls = %v, want %v", revisions, want)
	}
	if n := rec.AtOnce(t, "tools/call"); n != 3 {
		t.Errorf("AtOnce() = %d, want 3", n)
	}
	if n := len(rec.Notified(t, "notifications/progress")); n != 1 {
		t.Errorf("%d notifications recorded, want 1", n)
	}
}
