package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// A testRelay is a relay in memory. What mangle does not deliver is lost.
type testRelay struct {
	mu     sync.Mutex
	hears  map[string]func([]byte)
	mangle func(to string, n note, deliver func())
	sent   map[string]int // by kind
	work   sync.WaitGroup
}

func (r *testRelay) Send(_ context.Context, to string, message []byte) error {
	var n note
	if err := json.Unmarshal(message, &n); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sent == nil {
		r.sent = map[string]int{}
	}
	r.sent[n.Kind]++
	for name := range r.hears {
		if r.hears[n.From] == nil || to != "" && name != to || name == n.From {
			continue
		}
		deliver := func() {
			r.mu.Lock()
			hear := r.hears[name]
			r.mu.Unlock()
			if hear != nil {
				hear(message)
			}
		}
		if r.mangle != nil {
			r.work.Go(func() { r.mangle(name, n, deliver) })
		} else {
			r.work.Go(deliver)
		}
	}
	return nil
}

func (r *testRelay) Receive(name string, hear func([]byte)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hears == nil {
		r.hears = map[string]func([]byte){}
	}
	r.hears[name] = hear
	return func() { r.kill(name) }
}

// kill has a replica hear and say nothing more.
func (r *testRelay) kill(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.hears, name)
}

func (r *testRelay) count(kind string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent[kind]
}

// A testBus joins the servers of several replicas.
type testBus struct {
	mu    sync.Mutex
	hears map[int]func(kind, name string)
	last  int
}

func (b *testBus) Publish(kind, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, hear := range b.hears {
		hear(kind, name)
	}
}

func (b *testBus) Subscribe(hear func(kind, name string)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hears == nil {
		b.hears = map[int]func(kind, name string){}
	}
	b.last++
	n := b.last
	b.hears[n] = hear
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.hears, n)
	}
}

// A crowd is several replicas that serve the same clients.
type crowd struct {
	t        *testing.T
	relay    *testRelay
	servers  []*mcp.Server
	handlers []*Handler
	urls     []string
	http     *http.Client // nil: the usual
}

func newCrowd(t *testing.T, n int, relay *testRelay, o Options, serve func(i int, h *Handler) string) *crowd {
	t.Helper()
	keys, err := replica.NewKeyring([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	if o.Sessions == nil {
		o.Sessions = newMemoryStore()
	}
	o.Relay = relay
	bus := new(testBus)
	c := &crowd{t: t, relay: relay}
	for i := range n {
		s := newFixtureWith(t, mcp.ServerOptions{Keyring: keys, Bus: bus})
		mcp.AddTool(s, mcp.Tool{Name: "steps", Description: "steps"}, func(ctx context.Context, c *mcp.Call, in words) (string, error) {
			for i := range 5 {
				c.Progress(float64(i+1), 5, in.Text)
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
			return "all of " + in.Text, nil
		})
		h := NewHandler(s, &o)
		c.servers, c.handlers = append(c.servers, s), append(c.handlers, h)
		c.urls = append(c.urls, serve(i, h))
	}
	return c
}

// inBubble is a crowd in memory, for tests with a clock of their own.
func inBubble(t *testing.T, n int, relay *testRelay, o Options) (c *crowd, stop func()) {
	t.Helper()
	var listeners []*pipeListener
	var stops []func()
	o.Hosts = []string{"r0", "r1", "r2"}
	c = newCrowd(t, n, relay, o, func(i int, h *Handler) string {
		l, _, stop := inMemory(t, h)
		listeners, stops = append(listeners, l), append(stops, stop)
		return fmt.Sprintf("http://r%d/mcp", i)
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		return listeners[addr[1]-'0'].dial(ctx, network, addr)
	}}
	c.http = &http.Client{Transport: transport}
	return c, func() {
		transport.CloseIdleConnections()
		for _, stop := range stops {
			stop()
		}
		relay.work.Wait()
		c.empty()
	}
}

// at is the client at one of the replicas.
func (c *crowd) at(i int, cl *client) *client {
	there := *cl
	there.url, there.http, there.t = c.urls[i], c.http, c.t
	return &there
}

// empty wants nothing to be left anywhere.
func (c *crowd) empty() {
	c.t.Helper()
	for i, h := range c.handlers {
		h.replicas.mu.Lock()
		returns := len(h.replicas.resumes)
		h.replicas.mu.Unlock()
		if n := held(h); n != 0 || h.keptBytes.Load() != 0 || h.streams.load() != 0 || h.inFlight.load() != 0 || returns != 0 {
			c.t.Errorf("replica %d holds %d sessions, %d bytes, %d streams, %d calls, %d returns",
				i, n, h.keptBytes.Load(), h.streams.load(), h.inFlight.load(), returns)
		}
	}
}

// balanced is a crowd on real sockets behind a proxy that takes one after the other.
func balanced(t *testing.T, n int) (*crowd, string) {
	t.Helper()
	c := newCrowd(t, n, new(testRelay), Options{}, func(_ int, h *Handler) string { return serve(t, h) })
	var next atomic.Int64
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			u, _ := url.Parse(c.urls[int(next.Add(1))%n])
			u.Path = ""
			r.SetURL(u)
		},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A replica may respond as soon as it has the whole body, while the
		// proxy's transport has yet to read the end of it. Without full duplex
		// net/http closes the body of the proxy's request when the response
		// begins. That read then fails, and the transport closes the connection
		// to the replica in the middle of the event stream.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return c, front.URL + "/mcp"
}
