package streamable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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
)

// ClientOptions are what a Client may be given.
type ClientOptions struct {
	// Transport carries the requests; mcp/oauth has one that brings tokens. Nil: one
	// of its own, like http.DefaultTransport.
	Transport http.RoundTripper
	// Header goes with every request, such as a key.
	Header http.Header
	// Limits bound one message of the server's; 16 MiB and a million values.
	Limits jsonrpc.Limits
	// Logger takes what concerns the operator. Nil: slog's default.
	Logger *slog.Logger
}

// A Client is the way to a server over HTTP, as a transport for mcp.Connect. It
// speaks every revision, and finds the way of the oldest if it must.
type Client struct {
	url    *url.URL
	http   *http.Client
	own    *http.Transport // which ends with us; nil if it is somebody else's
	header http.Header
	limits jsonrpc.Limits
	log    *slog.Logger

	life context.Context // ends with Close
	end  context.CancelFunc
	wg   sync.WaitGroup
	in   chan received // what belongs to no request

	revision atomic.Uint32
	mu       sync.Mutex
	session  string
	pending  map[jsonrpc.ID]*pending
	streams  bool // the stream for what belongs to no request is open
	closed   bool
	gap      func(mcp.Gap)
}

var (
	_ mcp.Exchanger = (*Client)(nil)
	_ mcp.Lossy     = (*Client)(nil)
	_ mcp.Fallback  = (*Client)(nil)
)

// maxIdle is how many connections wait for the next request.
const maxIdle = 64

// NewClient makes the way to the server at an address. Nothing is sent yet.
func NewClient(address string, o *ClientOptions) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("streamable: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("streamable: %q is not the address of a server", u.Redacted())
	}
	u.Fragment = ""
	c := &Client{url: u, http: &http.Client{CheckRedirect: sameOrigin}, in: make(chan received, 16)}
	if o != nil {
		c.http.Transport, c.header, c.limits, c.log = o.Transport, o.Header, o.Limits, o.Logger
	}
	if def, ok := http.DefaultTransport.(*http.Transport); ok && c.http.Transport == nil {
		own := def.Clone()
		own.MaxIdleConnsPerHost = maxIdle
		c.http.Transport, c.own = own, own
	}
	c.limits.Bytes = cmp.Or(c.limits.Bytes, 16<<20)
	c.limits.Nodes = cmp.Or(c.limits.Nodes, 1_000_000)
	if c.log == nil {
		c.log = slog.Default()
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Connect connects to the server at an address. The context bounds the beginning
// only.
func Connect(ctx context.Context, address string, o *ClientOptions, client *mcp.ClientOptions) (*mcp.Client, error) {
	c, err := NewClient(address, o)
	if err != nil {
		return nil, err
	}
	return mcp.Connect(ctx, c, client)
}

// sameOrigin follows a redirect within a server only: our headers are for no other.
// One that would turn a POST into a GET, without what we say, is not followed.
func sameOrigin(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || r.Method != first.Method || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host {
		return fmt.Errorf("streamable: redirected to %s", r.URL.Redacted())
	}
	return nil
}

// Name tells which server this is, for the next time.
func (c *Client) Name() string {
	return c.url.Scheme + "://" + c.url.Host + c.url.Path
}

// Agreed tells the revision that the conversation is held in from now on.
func (c *Client) Agreed(r mcp.Revision) { c.revision.Store(uint32(r)) }

func (c *Client) agreed() mcp.Revision { return mcp.Revision(c.revision.Load()) }

// request makes an HTTP request with the headers that every one has.
func (c *Client) request(ctx context.Context, method string, body []byte, header map[string][]string) *http.Request {
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
	if revision := c.agreed(); header == nil && revision.VersionHeader() {
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

// get opens a stream, behind an event if one is named.
func (c *Client) get(ctx context.Context, after string, header map[string][]string) (*http.Response, error) {
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
	return nil, c.refused(res)
}

// Send sends what wants no answer: a notification, or an answer of ours.
func (c *Client) Send(ctx context.Context, p jsonrpc.Packet) error {
	res, err := c.http.Do(c.request(ctx, http.MethodPost, p.Append(nil), nil))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return c.refused(res)
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	if p.Message != nil && p.Message.Method == "notifications/initialized" {
		c.open(ctx)
	}
	return nil
}

// Receive waits for what belongs to no request.
func (c *Client) Receive(ctx context.Context) (jsonrpc.Packet, error) {
	select {
	case r := <-c.in:
		return r.packet, r.err
	case <-c.life.Done():
		return jsonrpc.Packet{}, io.EOF
	case <-ctx.Done():
		return jsonrpc.Packet{}, context.Cause(ctx)
	}
}

// openPatience is how long the stream for what belongs to no request is waited
// for: some servers ask their questions there, and lose them if it is not open.
const openPatience = 3 * time.Second

// open opens that stream, once.
func (c *Client) open(ctx context.Context) {
	c.mu.Lock()
	if c.streams || c.closed {
		c.mu.Unlock()
		return
	}
	c.streams = true
	settled := make(chan struct{})
	c.wg.Go(func() { c.hear(sync.OnceFunc(func() { close(settled) })) })
	c.mu.Unlock()
	late := time.NewTimer(openPatience)
	defer late.Stop()
	select {
	case <-settled:
	case <-late.C:
	case <-ctx.Done():
	}
}

// hear keeps that stream open, as long as the server has one. It tells when it
// knows.
func (c *Client) hear(settled func()) {
	defer settled()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.streams = false
	}()
	events := newEventReader(nil, c.limits.Bytes)
	wait := events.retry
	broke, renewed := false, false
	for failures := 0; failures < maxResumes; {
		session := c.inSession()
		res, err := c.get(c.life, events.id, nil)
		settled()
		status, refused := errors.AsType[*mcp.StatusError](err)
		refused = refused && status.Code < 500
		switch {
		case err == nil:
			if broke && !renewed { // a new session has told all anew
				c.onGap(mcp.GapStream)
			}
			events.reset(res.Body)
			for e, err := events.next(); err == nil; e, err = events.next() {
				if len(e.data) > 0 {
					c.messages(e.data, c.deliver)
				}
			}
			_ = res.Body.Close()
			broke, renewed, failures, wait = true, false, 0, events.retry
		case refused && !broke:
			return // it has none
		default:
			if refused { // the session may be forgotten
				events.id = ""
				if c.inSession() == session {
					c.onGap(mcp.GapSession)
				}
				renewed = c.inSession() != session
			}
			failures++
			if !refused || !renewed {
				wait = min(2*wait, slowestWait)
			}
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-c.life.Done():
			t.Stop()
			return
		}
	}
	c.log.Warn("no longer listening to the server", "server", c.Name())
	c.onGap(mcp.GapForGood)
}

// OnGap names what to call when something that belongs to no request may have been
// missed.
func (c *Client) OnGap(f func(mcp.Gap)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gap = f
}

func (c *Client) onGap(g mcp.Gap) {
	c.mu.Lock()
	f := c.gap
	c.mu.Unlock()
	if f != nil && c.life.Err() == nil {
		f(g)
	}
}

func (c *Client) inSession() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// A received packet belongs to no request; or it is what was wrong with it.
type received struct {
	packet jsonrpc.Packet
	err    error
}

func (c *Client) deliver(m *jsonrpc.Message, err error) bool {
	if err == nil && m.IsResponse() {
		c.mu.Lock()
		p := c.pending[m.ID]
		c.mu.Unlock()
		if p != nil && p.answer.CompareAndSwap(nil, m) {
			p.cancel()
			return true
		}
	}
	select {
	case c.in <- received{jsonrpc.One(m), err}:
		return true
	case <-c.life.Done():
		return false
	}
}

// Close ends the session, if there is one, and waits for all that was begun.
func (c *Client) Close() error {
	c.mu.Lock()
	first, session := !c.closed, c.session
	c.closed = true
	c.mu.Unlock()
	if first && session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if res, err := c.http.Do(c.request(ctx, http.MethodDelete, nil, nil)); err == nil {
			_ = res.Body.Close() // a server need not let itself be told
		}
	}
	c.end()
	c.wg.Wait()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}
