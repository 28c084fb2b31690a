package streamable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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
	in   chan jsonrpc.Packet // what belongs to no request

	revision atomic.Uint32
	mu       sync.Mutex
	session  string
	pending  map[jsonrpc.ID]*pending
	streams  bool // the stream for what belongs to no request is open
	closed   bool
}

var (
	_ mcp.Exchanger = (*Client)(nil)
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
	c := &Client{url: u, http: &http.Client{CheckRedirect: sameOrigin}, in: make(chan jsonrpc.Packet, 16)}
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
func sameOrigin(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; len(via) > 3 || r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
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

// Exchange sends one request and yields what comes of it. A stream that breaks
// before the answer is taken up again where the revision has that.
func (c *Client) Exchange(ctx context.Context, m *jsonrpc.Message, header map[string][]string) iter.Seq2[*jsonrpc.Message, error] {
	return func(yield func(*jsonrpc.Message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.life, cancel)()
		p := &pending{cancel: cancel}
		defer c.expect(m.ID, p)()
		yield = p.instead(yield)
		r := c.request(ctx, http.MethodPost, jsonrpc.One(m).Append(nil), header)
		if m.Method == "initialize" {
			delete(r.Header, "Mcp-Session-Id") // it begins a new one
		}
		res, err := c.http.Do(r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		if res.StatusCode < 200 || res.StatusCode > 299 {
			yield(nil, c.refused(res))
			return
		}
		if m.Method == "initialize" {
			c.mu.Lock()
			if c.session = res.Header.Get("Mcp-Session-Id"); !isVisible(c.session) {
				c.session = ""
			}
			c.mu.Unlock()
		}
		switch kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); strings.ToLower(strings.TrimSpace(kind)) {
		case "application/json":
			c.single(res, yield)
		case "text/event-stream":
			c.follow(ctx, m, res, header, yield)
			c.finish(res.Body, cancel)
		default:
			yield(nil, fmt.Errorf("streamable: the answer to %s is %q with status %d", m.Method, res.Header.Get("Content-Type"), res.StatusCode))
		}
	}
}

// A pending request waits for its answer. Servers of older revisions may give it
// on another stream than the request's own.
type pending struct {
	cancel context.CancelFunc // ends the request's own stream
	answer atomic.Pointer[jsonrpc.Message]
}

// expect takes note of a request until it is done.
func (c *Client) expect(id jsonrpc.ID, p *pending) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		c.pending = map[jsonrpc.ID]*pending{}
	}
	c.pending[id] = p
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}
}

// instead yields the answer that came elsewhere in place of what became of the
// request's own stream.
func (p *pending) instead(yield func(*jsonrpc.Message, error) bool) func(*jsonrpc.Message, error) bool {
	return func(m *jsonrpc.Message, err error) bool {
		if a := p.answer.Load(); a != nil && err != nil {
			return yield(a, nil)
		}
		return yield(m, err)
	}
}

// finish waits a moment for the end of a stream that has been answered: then the
// connection can be used for the next request.
func (c *Client) finish(body io.Reader, cancel context.CancelFunc) {
	late := time.AfterFunc(100*time.Millisecond, cancel)
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, 4<<10)
}

// isVisible reports whether a session's id is what it may be.
func isVisible(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return id != "" && len(id) <= 4096
}

const maxRefusal = 64 << 10 // what is read of a refusal

// refused is what a response without success says.
func (c *Client) refused(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	e := &mcp.StatusError{Code: res.StatusCode, Header: res.Header, Body: body}
	if isJSON(res.Header.Get("Content-Type")) {
		if p, err := jsonrpc.Decode(bytes.Clone(body), c.limits); err == nil && p.Message != nil {
			e.Err = p.Message.Error
		}
	}
	return e
}

// single yields the messages of a response that is not a stream.
func (c *Client) single(res *http.Response, yield func(*jsonrpc.Message, error) bool) {
	limit := int64(c.limits.Bytes)
	var buf bytes.Buffer
	if res.ContentLength > 0 && res.ContentLength <= limit {
		buf.Grow(int(res.ContentLength) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		yield(nil, err)
	case n > limit:
		yield(nil, fmt.Errorf("streamable: the answer is larger than %d bytes", limit))
	default:
		c.messages(buf.Bytes(), yield)
	}
}

// messages yields the messages in a text. It reports whether to go on.
func (c *Client) messages(text []byte, yield func(*jsonrpc.Message, error) bool) bool {
	p, err := jsonrpc.Decode(text, c.limits)
	if err != nil {
		return yield(nil, err)
	}
	if p.Message != nil {
		return yield(p.Message, nil)
	}
	for _, e := range p.Batch {
		if e.Message != nil && !yield(e.Message, nil) {
			return false
		}
	}
	return true
}

// How a stream is taken up again.
const (
	maxResumes  = 10               // without anything having come
	usualRetry  = time.Second      // what to wait before
	slowestWait = 30 * time.Second // whatever the server says
)

var errBroken = errors.New("streamable: the stream ended before the answer")

// follow yields what comes on the stream of a request, until its answer.
func (c *Client) follow(ctx context.Context, m *jsonrpc.Message, res *http.Response, header map[string][]string, yield func(*jsonrpc.Message, error) bool) {
	events := newEventReader(res.Body, c.limits.Bytes)
	answered, left := false, false
	hear := func(a *jsonrpc.Message, err error) bool {
		answered = answered || err == nil && a.IsResponse() && a.ID == m.ID
		left = !yield(a, err) || err != nil
		return !left && !answered
	}
	tries := 0
	for {
		e, err := events.next()
		if err == nil {
			tries = 0
			if len(e.data) > 0 && (e.name == "" || e.name == "message") && !c.messages(e.data, hear) {
				return
			}
			continue
		}
		version := mcp.Revision(0)
		if v := header["Mcp-Protocol-Version"]; len(v) == 1 {
			version, _ = mcp.ParseRevision(v[0])
		}
		if ctx.Err() != nil || errors.Is(err, errEventTooLarge) || version.Stateless() || events.id == "" || tries >= maxResumes {
			if errors.Is(err, io.EOF) {
				err = errBroken
			}
			yield(nil, err)
			return
		}
		tries++
		if res, err = c.resume(ctx, events, header); err != nil {
			yield(nil, err)
			return
		}
		if res != nil {
			defer res.Body.Close()
			events.reset(res.Body)
		}
	}
}

// resume waits as long as the server wants and asks for the rest of a stream. No
// response and no error means: again.
func (c *Client) resume(ctx context.Context, events *eventReader, header map[string][]string) (*http.Response, error) {
	t := time.NewTimer(events.retry)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.C:
	}
	res, err := c.get(ctx, events.id, header)
	if err != nil && ctx.Err() == nil {
		if _, refused := errors.AsType[*mcp.StatusError](err); !refused {
			events.retry = min(2*events.retry, slowestWait)
			return nil, nil
		}
	}
	return res, err
}

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
	case p := <-c.in:
		return p, nil
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
	events := newEventReader(nil, c.limits.Bytes)
	for tries := 0; tries < maxResumes; tries++ {
		res, err := c.get(c.life, events.id, nil)
		settled()
		status, refused := errors.AsType[*mcp.StatusError](err)
		switch {
		case refused && status.Code != http.StatusNotFound && status.Code < 500:
			return // it has none
		case refused && status.Code == http.StatusNotFound:
			events.id = "" // the session is forgotten, and may begin anew
		case err == nil:
			events.reset(res.Body)
			for e, err := events.next(); err == nil; e, err = events.next() {
				tries = 0
				if len(e.data) > 0 {
					c.messages(e.data, c.deliver)
				}
			}
			_ = res.Body.Close()
		}
		t := time.NewTimer(events.retry)
		select {
		case <-t.C:
		case <-c.life.Done():
			t.Stop()
			return
		}
	}
	c.log.Warn("no longer listening to the server", "server", c.Name())
}

func (c *Client) deliver(m *jsonrpc.Message, err error) bool {
	if err != nil {
		c.log.Warn("the server said something that cannot be used", "err", err)
		return true
	}
	if m.IsResponse() {
		c.mu.Lock()
		p := c.pending[m.ID]
		c.mu.Unlock()
		if p != nil && p.answer.CompareAndSwap(nil, m) {
			p.cancel()
			return true
		}
	}
	select {
	case c.in <- jsonrpc.One(m):
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
