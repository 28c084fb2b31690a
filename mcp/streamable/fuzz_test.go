package streamable

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Whatever is sent, the answer is a status and, if there is a body, a message.
func FuzzPost(f *testing.F) {
	call, _ := modernCall(1, "echo", "hi")
	f.Add(call, "2026-07-28", "tools/call", "echo", false)
	f.Add(listenRequest, "2026-07-28", "subscriptions/listen", "", false)
	f.Add(legacyCall(1, "progress", "hi", token), "2025-11-25", "", "", true)
	f.Add("["+legacyCall(1, "echo", "hi", "")+",1]", "", "", "", true)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"","version":""}}}`, "", "", "", false)
	f.Add(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "", "", "", true)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`, "", "", "", true)
	f.Fuzz(func(t *testing.T, body, version, method, name string, inSession bool) {
		h := NewHandler(newFixture(t), &Options{Hosts: []string{"test"}})
		h.Close() // nothing listens for long
		session := ""
		if inSession {
			w := httptest.NewRecorder()
			r := newPost(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"","version":""}}}`)
			h.ServeHTTP(w, r)
			session = w.Header().Get("Mcp-Session-Id")
		}
		if strings.Contains(body, "slow") {
			t.Skip()
		}
		r := newPost(body)
		for header, v := range map[string]string{
			"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name, "Mcp-Session-Id": session,
		} {
			if v != "" {
				r.Header.Set(header, v)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := w.Body.Bytes()
		if w.Header().Get("Content-Type") != "application/json" {
			return
		}
		if _, err := jsonrpc.Decode(got, jsonrpc.Limits{Bytes: 1 << 30, Batch: 1 << 20}); err != nil {
			t.Errorf("answer %d %s: %v", w.Code, got, err)
		}
		if h.inFlight.load() != 0 || h.streams.load() != 0 || h.bodies.load() != 0 || len(h.active) != 0 {
			t.Errorf("%d in flight, %d streams, %d bytes, %d sessions are left", h.inFlight.load(), h.streams.load(), h.bodies.load(), len(h.active))
		}
	})
}

func newPost(body string) *http.Request {
	r := httptest.NewRequest("POST", "http://test/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "*/*")
	return r
}

func FuzzEventID(f *testing.F) {
	f.Add("a-1")
	f.Add("-")
	f.Fuzz(func(t *testing.T, id string) {
		stream, _, ok := parseEventID(id)
		if ok && !strings.HasPrefix(id, stream+"-") {
			t.Errorf("parseEventID(%q) = %q", id, stream)
		}
	})
}

// Whatever comes by the relay does no harm.
func FuzzRelay(f *testing.F) {
	for _, n := range []note{
		{Kind: noteResponse, Session: "AAAAAAAAAAAAAAAAAAAAAA", Data: []byte(`{"jsonrpc":"2.0","id":"a.1","result":{}}`)},
		{Kind: noteCancel, Session: "AAAAAAAAAAAAAAAAAAAAAA", Data: []byte(`1`)},
		{Kind: noteResume, Session: "AAAAAAAAAAAAAAAAAAAAAA", Stream: "a.1", Number: 3, Ticket: "t"},
		{Kind: notePiece, Ticket: "t", Number: 1, Data: []byte("x"), Last: true},
		{Kind: noteAck, Ticket: "t", Number: 1},
		{Kind: noteEnd, Session: "x"},
		{Kind: noteChanged},
		{Kind: noteFeed},
		{Kind: noteLeft},
		{Kind: noteMissing},
	} {
		b, err := json.Marshal(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "fuzz", Version: "1"}, nil)
	f.Cleanup(s.Close)
	h := NewHandler(s, &Options{Relay: new(testRelay)})
	key := sessionKey{}
	h.acquire(key)
	f.Fuzz(func(t *testing.T, b []byte) {
		h.handleNote(b)
		if held(h) != 1 || h.inFlight.load() != 0 || h.streams.load() != 0 {
			t.Errorf("%d sessions, %d calls, %d streams", held(h), h.inFlight.load(), h.streams.load())
		}
	})
}
