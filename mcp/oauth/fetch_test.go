package oauth

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/internal/egress"
)

// A document is read up to its limit, also if it was small on the way.
func TestFetcher_bomb(t *testing.T) {
	var packed bytes.Buffer // beforehand: the client does not wait long for an answer to begin
	z := gzip.NewWriter(&packed)
	for range 8 {
		_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	_ = z.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}))
	defer s.Close()
	if err := (fetcher{egress.New(true)}).get(t.Context(), s.URL, new(any)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("get = %v, want that it is too large", err)
	}
}

// An address that is no place to go is refused wherever it stands, before anything
// is shown to the person or sent anywhere.
func TestTransport_namedAddresses(t *testing.T) {
	bad := []string{
		"javascript:alert(1)", "file:///etc/passwd", "$(reboot)", "a.exe", "https://a\r\nX-Evil: 1/", "http://x@y/", "https://x@127.0.0.1/",
		"http://example.com/", "https:///path", "https:opaque", "data:text/html,x", "//127.0.0.1/x", "ms-settings:x", " https://127.0.0.1/",
		"https://a b/", "http://169.254.169.254/latest", "ftp://127.0.0.1/", "https://127.0.0.1/\x00", "vscode://x",
	}
	places := map[string]func(w *world, address string){
		"authorization_endpoint": func(w *world, a string) { w.as[0].metadata["authorization_endpoint"] = a },
		"token_endpoint":         func(w *world, a string) { w.as[0].metadata["token_endpoint"] = a },
		"registration_endpoint":  func(w *world, a string) { w.as[0].metadata["registration_endpoint"] = a },
		"authorization_servers":  func(w *world, a string) { w.issuer = a },
		"resource_metadata":      func(w *world, a string) { w.header = a },
	}
	for place, put := range places {
		for _, address := range bad {
			if place == "resource_metadata" && strings.ContainsAny(address, "\r\n\x00") {
				continue // which a header cannot hold
			}
			w := newWorld(t)
			put(w, address)
			var mu sync.Mutex
			var shown []string
			c := w.client(Options{Authorize: func(ctx context.Context, address string) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				shown = append(shown, address)
				return agree(ctx, address)
			}})
			got := w.visit(c)
			if blocked := c.Transport.(*Transport).Blocked(); !strings.Contains(got, "not allowed") || len(shown) > 0 || len(w.as[0].forms) > 0 || blocked == 0 {
				t.Errorf("%s %q: %s, having shown %q and asked for %d tokens; %d blocked", place, address, got, shown, len(w.as[0].forms), blocked)
			}
		}
	}
	// What is safe for a program to ask is not always for a person to visit.
	for _, address := range []string{"http://10.1.2.3/authorize", "https://exаmple.com/authorize"} {
		w := newWorld(t)
		w.as[0].metadata["authorization_endpoint"] = address
		c := w.client(Options{Authorize: func(context.Context, string) (string, error) {
			return "", fmt.Errorf("%s was shown", address)
		}})
		if got := w.visit(c); !strings.Contains(got, "not allowed") {
			t.Errorf("authorize at %q: %s", address, got)
		}
	}
}
