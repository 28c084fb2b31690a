package oauth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/internal/pageurl"
)

// A Loopback receives the redirects of users who return from the authorization
// server. Several transports may share one.
type Loopback struct {
	// Show displays the URL at which the user consents. It is safe to display;
	// opening it is the user's decision.
	Show func(address string) error

	listener net.Listener
	http     *http.Server
	done     chan struct{}

	mu      sync.Mutex
	waiting map[string]chan string // by state
}

// NewLoopback starts a server on a free loopback port. The caller must close
// it.
func NewLoopback(show func(address string) error) (*Loopback, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Loopback{Show: show, listener: l, waiting: map[string]chan string{}, done: make(chan struct{})}
	b.http = &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(b.done)
		_ = b.http.Serve(l) // until Close
	}()
	return b, nil
}

// Redirect returns the redirect URL.
func (b *Loopback) Redirect() string { return "http://" + b.listener.Addr().String() + "/callback" }

// ServeHTTP handles the user's redirect.
func (b *Loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/callback" || r.Method != http.MethodGet || r.Host != b.listener.Addr().String() {
		http.NotFound(w, r)
		return
	}
	b.mu.Lock()
	back := b.waiting[r.URL.Query().Get("state")]
	b.mu.Unlock()
	if back == nil { // any page can send a browser here, which must not end a wait
		http.Error(w, "No authorization is in progress for this request.", http.StatusBadRequest)
		return
	}
	select {
	case back <- b.Redirect() + "?" + r.URL.RawQuery:
	default: // received before
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write([]byte("You can close this page and go back to the program.\n"))
}

// Authorize shows the user the URL and waits for the redirect. Use it as
// Options.Authorize.
func (b *Loopback) Authorize(ctx context.Context, address string) (string, error) {
	if err := pageurl.Check(address); err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	state, redirected := u.Query().Get("state"), make(chan string, 1)
	b.mu.Lock()
	b.waiting[state] = redirected
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, state)
	}()
	if err := b.Show(address); err != nil {
		return "", err
	}
	select {
	case back := <-redirected:
		return back, nil
	case <-b.done:
		return "", errors.New("oauth: closed")
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Close stops the server and ends all waits.
func (b *Loopback) Close() error {
	err := b.http.Close()
	<-b.done
	return err
}
