package streamable

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// discard is a ResponseWriter that keeps nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header              { return d.header }
func (d *discard) WriteHeader(int)                  {}
func (d *discard) SetReadDeadline(time.Time) error  { return nil }
func (d *discard) SetWriteDeadline(time.Time) error { return nil }

func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

// One call through the handler, without net/http and the network.
func BenchmarkCall(b *testing.B) {
	s := mcp.NewServer(mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	mcp.AddTool(s, mcp.Tool{Name: "echo", Description: "echo"}, func(_ context.Context, _ *mcp.Call, in words) (string, error) { return in.Text, nil })
	h := NewHandler(s, &Options{Hosts: []string{"test"}})
	replica := NewHandler(s, &Options{Hosts: []string{"test"}, Relay: new(testRelay), Sessions: newMemoryStore()})
	header := func(pairs ...string) http.Header {
		m := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		for i := 0; i < len(pairs); i += 2 {
			m.Set(pairs[i], pairs[i+1])
		}
		return m
	}
	w := &discard{header: http.Header{}}
	start := newPost(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	h.ServeHTTP(w, start)
	session := w.header.Get("Mcp-Session-Id")
	modern, _ := modernCall(1, "echo", strings.Repeat("x", 32))
	for _, c := range []struct {
		name, body string
		h          *Handler
		header     http.Header
	}{
		{"2026-07-28", modern, h, header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo")},
		{"2025-11-25", legacyCall(1, "echo", strings.Repeat("x", 32), ""), h, header("Mcp-Protocol-Version", "2025-11-25", "Mcp-Session-Id", session)},
		{"2025-11-25 of replicas", legacyCall(1, "echo", strings.Repeat("x", 32), ""), replica, header("Mcp-Protocol-Version", "2025-11-25", "Mcp-Session-Id", session)},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newPost("")
			r.Header = c.header
			r.ContentLength = int64(len(c.body))
			body := bytes.NewReader(nil)
			r.Body = io.NopCloser(body)
			b.ReportAllocs()
			for b.Loop() {
				body.Reset([]byte(c.body))
				clear(w.header)
				c.h.ServeHTTP(w, r)
			}
		})
	}
}
