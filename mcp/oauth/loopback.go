package oauth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// A Loopback waits on this machine for people to come back from the
// authorization server. Several transports may use one at the same time.
type Loopback struct {
	// Show tells the person the address to agree at. It is safe to show; opening it
	// is for the person to decide.
	Show func(address string) error

	l    net.Listener
	http *http.Server
	done chan struct{}

	mu   sync.Mutex
	back map[string]chan string // by state: who waits
}

// NewLoopback begins to wait, at an address of its own. It must be closed.
func NewLoopback(show func(address string) error) (*Loopback, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Loopback{Show: show, l: l, back: map[string]chan string{}, done: make(chan struct{})}
	b.http = &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(b.done)
		_ = b.http.Serve(l) // until Close
	}()
	return b, nil
}

// Redirect is the address that the person comes back to.
func (b *Loopback) Redirect() string { return "http://" + b.l.Addr().String() + "/callback" }

// ServeHTTP receives the person.
func (b *Loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/callback" || r.Method != http.MethodGet || r.Host != b.l.Addr().String() {
		http.NotFound(w, r)
		return
	}
	b.mu.Lock()
	back := b.back[r.URL.Query().Get("state")]
	b.mu.Unlock()
	if back == nil { // any page can send a browser here: that ends nobody's waiting
		http.Error(w, "Nobody waits for this.", http.StatusBadRequest)
		return
	}
	select {
	case back <- b.Redirect() + "?" + r.URL.RawQuery:
	default: // they have come already
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write([]byte("You can close this page and go back to the program.\n"))
}

// Authorize shows the person the address and waits for them to come back. It is for
// Options.Authorize.
func (b *Loopback) Authorize(ctx context.Context, address string) (string, error) {
	if err := mcp.CheckURL(address); err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	state, came := u.Query().Get("state"), make(chan string, 1)
	b.mu.Lock()
	b.back[state] = came
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.back, state)
	}()
	if err := b.Show(address); err != nil {
		return "", err
	}
	select {
	case back := <-came:
		return back, nil
	case <-b.done:
		return "", errors.New("oauth: closed")
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Close ends the waiting.
func (b *Loopback) Close() error {
	err := b.http.Close()
	<-b.done
	return err
}
