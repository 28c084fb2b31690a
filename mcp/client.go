package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// ClientOptions configures a Client. The zero value is a client that negotiates
// the revision and does not answer questions.
type ClientOptions struct {
	Info Implementation // what the client calls itself
	// Revision is the only revision to accept. Zero means the latest one that
	// the server supports.
	Revision Revision

	// Setting one of these functions declares the capability. They may be
	// called concurrently.
	//
	// Elicit asks the user. Missing members of an accepted form are filled in
	// with the form's defaults. A URL is https, or http on this machine, and
	// safe to display; whether to open it is the user's decision.
	// Sample samples the client's model. Roots lists the client's roots. Both are
	// deprecated by revision 2026-07-28, like log messages; servers of older
	// revisions ask for them.
	Elicit func(ctx context.Context, p *ElicitParams) (*ElicitResult, error)
	Sample func(ctx context.Context, p *SampleParams) (*SampleResult, error)
	Roots  func(ctx context.Context) ([]Root, error)
	// Tasks allows tool calls to become tasks, which the client follows to
	// their end.
	Tasks bool
	// Capabilities are declared in addition to what the fields above declare:
	// extensions, experimental capabilities, Sampling.Tools. A capability whose
	// function is not set is not declared.
	Capabilities ClientCapabilities
	// LogLevel is the minimum level of log messages to receive; nil means none.
	// It is read when the client connects.
	LogLevel slog.Leveler
	// OnLog is called with log messages, OnNotify with all other notifications.
	//
	// These callbacks and CallOptions.Progress run one at a time, in order of
	// arrival, and may call the client. A call that was sent while no callback
	// was running returns after the callbacks for everything that the server
	// sent before the response; one sent meanwhile does not wait for them. A
	// callback must not wait for a call that was sent before it. Over HTTP the
	// order is that of each stream.
	OnLog    func(ctx context.Context, m LogMessage)
	OnNotify func(ctx context.Context, n Notification)

	// Timeout is how long the server may be silent about a request; default one
	// minute. Progress requested with CallOptions and a server request being
	// answered extend it. MaxTime limits the whole request; default half an
	// hour.
	Timeout, MaxTime time.Duration
	// ProbeTimeout is how long to wait for the answer to server/discover before
	// initialize is tried; default 5 s, and three times as long over HTTP.
	ProbeTimeout time.Duration
	// Observe is called before a request is sent, with the tool or prompt that
	// it names, if any. The returned meta is added to the request's _meta,
	// where values of the caller take precedence. done is called with the
	// outcome.
	Observe func(ctx context.Context, method, name string) (meta Meta, done func(error))
	// Redact, if not nil, changes every text that the server sends before
	// anything else sees it: strings in its messages, texts of HTTP errors, and
	// lines that a child writes to its standard error. Cursors and states that
	// only the server itself reads stay as they are. It is called concurrently.
	Redact func(text string) string
	// Logger receives messages for the operator. Default: slog.Default().
	Logger *slog.Logger
}

// A Notification is a notification from the server.
type Notification struct {
	Method string
	Params json.RawMessage
}

// A Client is a connection to one server. Its methods may be called
// concurrently.
type Client struct {
	o          ClientOptions
	log        *slog.Logger
	conn       atomic.Pointer[connection]
	exchanger  exchanger       // the transport, if it sends each request separately; otherwise nil
	restarter  *restarter      // starts the child again; nil: nothing does
	wg         sync.WaitGroup  // goroutines besides the peer
	cancelling sync.WaitGroup  // cancellation notifications being sent
	baseCtx    context.Context // ends with Close
	cancel     context.CancelFunc

	era          atomic.Pointer[negotiated] // set by Connect before any other request
	capabilities ClientCapabilities

	eraUncertain bool         // Connect cannot tell the era
	handling     atomic.Int32 // number of server requests being handled
	lastHandled  atomic.Int64 // when the last one finished, in Unix nanoseconds
	lastID       atomic.Int64 // id of the last request on exchanger
	refused      atomic.Int64 // number of malformed and unexpected messages
	malformed    atomic.Int64 // number of malformed messages in a row

	mu             sync.Mutex
	closed         bool
	epoch          int                           // number of sessions so far
	lastToken      int64                         // last progress token
	timers         map[string]*requestTimer      // by progress token
	subscriptions  map[string]func(Notification) // by subscription id
	inboxes        map[*inbox]bool               // listeners of a session
	streamRequests map[jsonrpc.ID]streamRequest  // server requests received on a response stream
	subscribed     map[string]int                // number of listeners by resource URI, in a session
	streamLost     bool                          // the session's event stream failed for good
	lists          listCache                     // cached lists

	callbacks  callbackQueue                 // of an exchanger
	forwarding map[*clientRequest]*answerers // requests in flight that have answerers of their own
	cancelSent chan struct{}                 // closed when the newest cancellation was sent; nil if there was none

	renewLock     chan struct{} // held while a session is renewed
	subscribeLock chan struct{} // held while a resource is subscribed or unsubscribed
}

// negotiated holds the revision, the _meta and the server info.
type negotiated struct {
	revision Revision
	meta     []byte           // members of the _meta of every request
	server   initializeResult // info and capabilities of the server
}

// Connect connects to a server over t. ctx bounds the handshake only. The
// caller must close the client, which closes t. If Connect fails, t is closed.
func Connect(ctx context.Context, t jsonrpc.Transport, o *ClientOptions) (*Client, error) {
	c := newClient(t, o)
	err := c.o.Capabilities.check()
	if err == nil {
		err = c.negotiate(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

func newClient(t jsonrpc.Transport, o *ClientOptions) *Client {
	c := &Client{
		timers:         map[string]*requestTimer{},
		subscriptions:  map[string]func(Notification){},
		inboxes:        map[*inbox]bool{},
		streamRequests: map[jsonrpc.ID]streamRequest{},
		subscribed:     map[string]int{},

		renewLock:     make(chan struct{}, 1),
		subscribeLock: make(chan struct{}, 1),
	}
	if o != nil {
		c.o = *o
	}
	if c.o.Info.Name == "" {
		c.o.Info = Implementation{Name: "bossman", Version: "0"}
	}
	c.o.Timeout = cmp.Or(c.o.Timeout, time.Minute)
	c.o.MaxTime = cmp.Or(c.o.MaxTime, 30*time.Minute)
	c.o.ProbeTimeout = cmp.Or(c.o.ProbeTimeout, 5*time.Second)
	if c.log = c.o.Logger; c.log == nil {
		c.log = slog.Default()
	}
	c.capabilities = c.o.capabilities()
	c.era.Store(&negotiated{})
	c.baseCtx, c.cancel = context.WithCancel(context.Background())
	c.run(t)
	return c
}

// A connection is a transport and the peer that reads from it.
type connection struct {
	transport jsonrpc.Transport
	peer      *jsonrpc.Peer
	ended     chan struct{} // closed when the peer has stopped
	runErr    error         // why the peer stopped; valid after ended is closed
	ready     chan struct{} // closed after the handshake of a child that was started again; otherwise nil
	replaced  chan struct{} // closed when a child was started again
}

func (n *connection) isEnded() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// run starts reading from a transport.
func (c *Client) run(t jsonrpc.Transport) {
	c.exchanger, _ = t.(exchanger)
	if l, ok := t.(gapReporter); ok {
		l.OnGap(c.handleGap)
	}
	n := c.newConnection(t)
	c.conn.Store(n)
	n.start()
}

// newConnection returns a connection that reads nothing before start.
func (c *Client) newConnection(t jsonrpc.Transport) *connection {
	n := &connection{transport: t, ended: make(chan struct{}), replaced: make(chan struct{})}
	if c.o.Redact != nil {
		t = &redactedTransport{t, c.o.Redact}
	}
	n.peer = jsonrpc.NewPeer(t, &jsonrpc.PeerOptions{
		Handle:    c.handlePeerRequest,
		Notified:  c.handlePeerNotification,
		Abandoned: c.sendCancelled,
		Refused:   c.reportRefused,
		Reserved:  true,
		Panicked:  func(m *jsonrpc.Message, v any, stack []byte) { c.logPanic(m.Method, v, stack) },
		Batches:   func() bool { return c.Revision().batches() },
	})
	return n
}

func (n *connection) start() {
	go func() {
		defer close(n.ended)
		n.runErr = n.peer.Run(context.Background()) // pending calls get the error
	}()
}

func (c *Client) logPanic(method string, v any, stack []byte) {
	c.log.Error("client handler panicked", "method", method, "value", v, "stack", string(stack))
}

// reportRefused counts and sometimes logs a message that cannot be used. A late
// response to a cancelled request is normal and logged at debug level.
func (c *Client) reportRefused(err error) {
	n := c.refused.Add(1)
	level := slog.LevelDebug
	if _, ok := errors.AsType[*jsonrpc.Malformed](err); ok {
		level = slog.LevelWarn
		c.malformed.Add(1)
	}
	if n&(n-1) != 0 { // 1, 2, 4, 8, …
		return
	}
	c.log.Log(context.Background(), level, "received a message that cannot be used", "count", n, "err", err)
}

// Close closes the connection and waits for everything the client started. It
// must not be called by a function in the client's options.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	for in := range c.inboxes {
		in.close()
	}
	c.mu.Unlock()
	c.cancelling.Wait() // bounded by cleanupTimeout
	c.cancel()
	conn := c.conn.Load()
	err := conn.transport.Close()
	<-conn.ended
	c.wg.Wait()
	return err
}

// Revision returns the negotiated revision.
func (c *Client) Revision() Revision { return c.era.Load().revision }

// ServerCapabilities returns what the server offers.
func (c *Client) ServerCapabilities() ServerCapabilities { return c.era.Load().server.Capabilities }

// ServerInfo returns what the server calls itself. It is for display only and
// must not be trusted.
func (c *Client) ServerInfo() Implementation { return c.era.Load().server.ServerInfo }

// Instructions returns the server's instructions for models.
func (c *Client) Instructions() string { return c.era.Load().server.Instructions }

// Done is closed when the connection is closed, by either end, and will not be
// restored.
func (c *Client) Done() <-chan struct{} {
	if c.restarter != nil {
		return c.restarter.done
	}
	return c.conn.Load().ended
}
