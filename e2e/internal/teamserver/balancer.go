package teamserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// lookEvery is how often the balancer asks replicas whether they are ready.
	lookEvery = 50 * time.Millisecond
	// lookFor is how long one may take to say so.
	lookFor = time.Second
)

// A Balancer is a load balancer as simple as they come. Each request goes to the
// next replica that is ready, also those of one connection. What was sent is never
// sent again: only if a replica cannot be connected to, the next is tried, once.
type Balancer struct {
	server    *httptest.Server
	transport *http.Transport
	proxy     *httputil.ReverseProxy
	end       context.CancelFunc
	wg        sync.WaitGroup

	turn    atomic.Int64
	calls   atomic.Int64 // that are under way
	refused atomic.Int64 // answered 502 or 503 by the balancer itself

	mu      sync.Mutex
	targets []*target
}

// A target is an address that requests are sent to.
type target struct {
	address string
	ready   atomic.Bool
	served  atomic.Int64
}

func newBalancer() *Balancer {
	b := &Balancer{transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: time.Second}).DialContext,
		MaxIdleConnsPerHost: 256,
	}}
	b.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport:     b,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // clients that leave are no news
		ErrorHandler:  b.failed,
	}
	b.server = httptest.NewServer(b)
	ctx, end := context.WithCancel(context.Background())
	b.end = end
	b.wg.Go(func() { b.look(ctx) })
	return b
}

func (b *Balancer) close() {
	b.end()
	b.wg.Wait()
	b.server.CloseClientConnections()
	b.server.Close()
	b.transport.CloseIdleConnections()
}

// URL is the address that clients are given, without a path.
func (b *Balancer) URL() string { return b.server.URL }

// Refused is how many requests the balancer itself had to answer with an error.
func (b *Balancer) Refused() int64 { return b.refused.Load() }

// Calls is how many POSTs are under way.
func (b *Balancer) Calls() int64 { return b.calls.Load() }

// add begins to send requests to an address.
func (b *Balancer) add(address string) *target {
	t := &target{address: address}
	t.ready.Store(b.ready(context.Background(), t))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets = append(b.targets, t)
	return t
}

// remove forgets an address.
func (b *Balancer) remove(t *target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets = slices.DeleteFunc(slices.Clone(b.targets), func(other *target) bool { return other == t })
}

func (b *Balancer) all() []*target {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.targets
}

// look keeps asking the replicas whether they are ready.
func (b *Balancer) look(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var wg sync.WaitGroup
		for _, t := range b.all() {
			wg.Go(func() { t.ready.Store(b.ready(ctx, t)) })
		}
		wg.Wait()
	}
}

func (b *Balancer) ready(ctx context.Context, t *target) bool {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.address+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := b.transport.RoundTrip(r)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK
}

// next is the replica whose turn it is, or nil if none is ready.
func (b *Balancer) next() *target {
	all := b.all()
	for range all {
		if t := all[int(b.turn.Add(1))%len(all)]; t.ready.Load() {
			return t
		}
	}
	return nil
}

func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method == http.MethodPost {
		b.calls.Add(1)
		defer b.calls.Add(-1)
	}
	b.proxy.ServeHTTP(w, r)
}

var errNone = errors.New("no replica is ready")

// RoundTrip sends a request to the next replica.
func (b *Balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for first := true; ; first = false {
		t := b.next()
		if t == nil {
			return nil, errNone
		}
		out := r.Clone(r.Context())
		out.URL = &url.URL{Scheme: "http", Host: t.address, Path: r.URL.Path, RawQuery: r.URL.RawQuery}
		out.Body = http.NoBody
		if len(body) > 0 {
			out.Body = io.NopCloser(bytes.NewReader(body))
		}
		res, err := b.transport.RoundTrip(out)
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			t.ready.Store(false)
			if first {
				continue
			}
		}
		if err == nil {
			t.served.Add(1)
		}
		return res, err
	}
}

// failed answers for a replica that did not.
func (b *Balancer) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has left
	}
	b.refused.Add(1)
	status := http.StatusBadGateway
	if errors.Is(err, errNone) {
		status = http.StatusServiceUnavailable
	}
	http.Error(w, http.StatusText(status), status)
}
