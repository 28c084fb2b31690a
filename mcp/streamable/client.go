package streamable

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// ClientOptions configures Connect and NewTransport. Nil means the defaults.
type ClientOptions struct {
	// Transport sends the requests; mcp/oauth has one that adds tokens.
	// Default: a separate clone of http.DefaultTransport.
	Transport http.RoundTripper
	// Header is added to every request, for example with a key.
	Header http.Header
	// Limits bounds one message from the server; default 16 MiB and a million
	// values.
	Limits jsonrpc.Limits
	// Logger receives messages for the operator. Default: slog.Default().
	Logger *slog.Logger
}

// A clientTransport is a transport to a server over HTTP. It supports
// all revisions, including the transport of the oldest one.
type clientTransport struct {
	url          *url.URL
	http         *http.Client
	ownTransport *http.Transport // closed with the client; nil if the program provided one
	header       http.Header
	limits       jsonrpc.Limits
	log          *slog.Logger

	baseCtx  context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	incoming chan received // messages that belong to no request

	revision  atomic.Uint32
	mu        sync.Mutex
	session   string
	pending   map[jsonrpc.ID]*pending
	listening bool // the stream for messages that belong to no request is open
	closed    bool
	gapFunc   func(gap string)
}

var (
	_ transport.Exchanger   = (*clientTransport)(nil)
	_ transport.GapReporter = (*clientTransport)(nil)
	_ transport.Fallback    = (*clientTransport)(nil)
)

// maxIdleConns limits the idle connections kept for further requests.
const maxIdleConns = 64

// NewTransport returns a transport for mcp.Connect to the server at a URL. It sends
// nothing yet. Most programs use Connect.
func NewTransport(address string, o *ClientOptions) (jsonrpc.Transport, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("streamable: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("streamable: %q is not a valid server URL", u.Redacted())
	}
	u.Fragment = ""
	c := &clientTransport{url: u, http: &http.Client{CheckRedirect: sameOrigin}, incoming: make(chan received, 16)}
	if o != nil {
		c.http.Transport, c.header, c.limits, c.log = o.Transport, o.Header, o.Limits, o.Logger
	}
	if def, ok := http.DefaultTransport.(*http.Transport); ok && c.http.Transport == nil {
		own := def.Clone()
		own.MaxIdleConnsPerHost = maxIdleConns
		c.http.Transport, c.ownTransport = own, own
	}
	c.limits.Bytes = cmp.Or(c.limits.Bytes, 16<<20)
	c.limits.Nodes = cmp.Or(c.limits.Nodes, 1_000_000)
	if c.log == nil {
		c.log = slog.Default()
	}
	c.baseCtx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Connect connects to the server at a URL. ctx bounds connecting only.
func Connect(ctx context.Context, address string, o *ClientOptions, client *mcp.ClientOptions) (*mcp.Client, error) {
	c, err := NewTransport(address, o)
	if err != nil {
		return nil, err
	}
	return mcp.Connect(ctx, c, client)
}

// sameOrigin follows redirects within a server only, because the headers are
// for no other. It does not follow a redirect that turns a POST into a GET.
func sameOrigin(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || r.Method != first.Method || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host {
		return fmt.Errorf("streamable: redirected to %s", r.URL.Redacted())
	}
	return nil
}

// ServerName identifies the server, for the cache of eras.
func (c *clientTransport) ServerName() string {
	return c.url.Scheme + "://" + c.url.Host + c.url.Path
}

// Negotiated sets the negotiated revision.
func (c *clientTransport) Negotiated(r mcp.Revision) { c.revision.Store(uint32(r)) }

func (c *clientTransport) negotiated() mcp.Revision { return mcp.Revision(c.revision.Load()) }

// request returns an HTTP request with the headers common to all.
func (c *clientTransport) request(ctx context.Context, method string, body []byte, header map[string][]string) *http.Request {
	r := &http.Request{Method: method, URL: c.url, Host: c.url.Host, Header: make(http.Header, 10), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	maps.Copy(r.Header, c.header)
	maps.Copy(r.Header, header)
	if body != nil {
		r.Header["Content-Type"] = contentJSON
		r.Header["Accept"] = acceptBoth
		r.ContentLength = int64(len(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	if revision := c.negotiated(); header == nil && transport.RulesOf(revision).VersionHeader {
		r.Header["Mcp-Protocol-Version"] = []string{revision.String()}
	}
	c.mu.Lock()
	if c.session != "" {
		r.Header["Mcp-Session-Id"] = []string{c.session}
	}
	c.mu.Unlock()
	return r.WithContext(ctx)
}

var acceptBoth = []string{"application/json, text/event-stream"}

// get opens a stream, after an event if after is not empty.
func (c *clientTransport) get(ctx context.Context, after string, header map[string][]string) (*http.Response, error) {
	r := c.request(ctx, http.MethodGet, nil, header)
	r.Header["Accept"] = contentEvents
	if after != "" {
		r.Header["Last-Event-Id"] = []string{after}
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if res.StatusCode == http.StatusOK && strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
		return res, nil
	}
	defer res.Body.Close()
	return nil, c.statusError(res)
}

// Send sends a message without a response: a notification, or a response to the
// server.
func (c *clientTransport) Send(ctx context.Context, p jsonrpc.Packet) error {
	res, err := c.http.Do(c.request(ctx, http.MethodPost, p.Append(nil), nil))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return c.statusError(res)
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	if p.Message != nil && p.Message.Method == "notifications/initialized" {
		c.startListening(ctx)
	}
	return nil
}

// Receive returns the next message that belongs to no request.
func (c *clientTransport) Receive(ctx context.Context) (jsonrpc.Packet, error) {
	select {
	case r := <-c.incoming:
		return r.packet, r.err
	case <-c.baseCtx.Done():
		return jsonrpc.Packet{}, io.EOF
	case <-ctx.Done():
		return jsonrpc.Packet{}, context.Cause(ctx)
	}
}

func (c *clientTransport) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// A received is a packet that belongs to no request, or the error if it is
// malformed.
type received struct {
	packet jsonrpc.Packet
	err    error
}

func (c *clientTransport) deliver(m *jsonrpc.Message, err error) bool {
	if err == nil && m.IsResponse() {
		c.mu.Lock()
		p := c.pending[m.ID]
		c.mu.Unlock()
		if p != nil && p.response.CompareAndSwap(nil, m) {
			p.cancel()
			return true
		}
	}
	select {
	case c.incoming <- received{jsonrpc.One(m), err}:
		return true
	case <-c.baseCtx.Done():
		return false
	}
}

// Close ends the session, if there is one, and waits for all goroutines.
func (c *clientTransport) Close() error {
	c.mu.Lock()
	first, session := !c.closed, c.session
	c.closed = true
	c.mu.Unlock()
	if first && session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if res, err := c.http.Do(c.request(ctx, http.MethodDelete, nil, nil)); err == nil {
			_ = res.Body.Close() // a server may refuse that
		}
	}
	c.cancel()
	c.wg.Wait()
	if c.ownTransport != nil {
		c.ownTransport.CloseIdleConnections()
	}
	return nil
}
