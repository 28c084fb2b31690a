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

// ClientOptions are what a client may be given. The zero value is a client that
// finds out which revision the server speaks, and cannot be asked anything.
type ClientOptions struct {
	Info Implementation // what the client calls itself
	// Revision is the only one to speak. Zero: the newest that the server does.
	Revision Revision

	// A handler that is set is declared as a capability. Handlers may be called
	// from several goroutines at once.
	//
	// Elicit asks the person. Members of an accepted form that it leaves out are
	// filled in with the form's defaults. A URL that it gets is https, or http on
	// this machine, and safe to show; whether to open it is the person's choice.
	Elicit func(ctx context.Context, p *ElicitParams) (*ElicitResult, error)
	Sample func(ctx context.Context, p *SampleParams) (*SampleResult, error)
	Roots  func(ctx context.Context) ([]Root, error)
	// Tasks lets tool calls become tasks, which the client then follows to
	// their end.
	Tasks bool
	// LogLevel is the least serious log message to be sent; zero is none.
	LogLevel LogLevel
	// OnNotify hears what the server tells: on a pipe one after the other, over
	// HTTP in the order of each stream. It may call the client, with its own ctx:
	// with another it would wait for an answer that comes after it.
	OnNotify func(ctx context.Context, n Notification)

	// Timeout is how long the server may be silent about a request; a minute.
	// Progress that CallOptions asks for, and a question of the server's that is
	// being answered, count as signs of life. MaxTime is the end in any case; half an hour.
	Timeout, MaxTime time.Duration
	// Probe is how long a server may take to answer the first question of the
	// newest revision before it is asked in the old way; 5 s, and three times as
	// long over HTTP.
	Probe time.Duration
	// Eras remembers which servers are old, so that they are not asked again. Nil:
	// one for the whole program.
	Eras *Eras
	// Observe is called before a request is sent, with the tool or prompt that it
	// names, if any. What it gives is added to the request's _meta, unless the caller
	// has the same there; done is called when there is an answer or none will come.
	Observe func(ctx context.Context, method, name string) (meta Meta, done func(error))
	// Logger takes what concerns the operator. Nil: slog's default.
	Logger *slog.Logger
}

// A Notification is something that the server tells.
type Notification struct {
	Method string
	Params json.RawMessage
}

// A Client talks to one server. Its methods may be called from several
// goroutines at once.
type Client struct {
	o         ClientOptions
	log       *slog.Logger
	transport jsonrpc.Transport
	peer      *jsonrpc.Peer
	exchanger Exchanger // the transport, if requests go out one by one
	ended     chan struct{}
	why       error           // what ended it, out of the ordinary; to be read after that
	wg        sync.WaitGroup  // what is begun beside the peer
	farewells sync.WaitGroup  // what the server is told about requests that were given up
	life      context.Context // ends with Close
	end       context.CancelFunc

	era          atomic.Pointer[settled] // set by Connect before anything else is asked
	capabilities ClientCapabilities

	doubt     bool         // Connect is not sure about the era
	answering atomic.Int32 // questions of the server's that are being answered
	answered  atomic.Int64 // when the last of them was, in Unix nanoseconds
	lastID    atomic.Int64 // of requests that go out one by one
	refused   atomic.Int64 // messages that were none, or that nobody waited for
	noise     atomic.Int64 // of those, the ones that were none, in a row

	mu      sync.Mutex
	closed  bool
	epoch   int // how often a session was begun
	tokens  int64
	follow  map[string]*watch             // by progress token
	hearing map[string]func(Notification) // by subscription id
	inboxes map[*inbox]bool               // those who listen in a session
	asides  map[jsonrpc.ID]aside          // questions that came on a request's own stream
	watched map[string]int                // URIs that a session is subscribed to
	deaf    bool                          // a session's stream for them has been given up
	lists   lists

	renewal     chan struct{} // holds one while a session is begun anew
	subscribing chan struct{} // holds one while a resource is subscribed to, or no longer
}

// settled is how the conversation is held.
type settled struct {
	revision Revision
	meta     []byte           // the members of every request's _meta
	server   initializeResult // what the server says of itself
}

// Connect begins a conversation over t. The context bounds the handshake only.
// The client must be closed; it closes t. On an error t is closed already.
func Connect(ctx context.Context, t jsonrpc.Transport, o *ClientOptions) (*Client, error) {
	c := newClient(t, o)
	if err := c.begin(ctx); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

func newClient(t jsonrpc.Transport, o *ClientOptions) *Client {
	c := &Client{
		follow:  map[string]*watch{},
		hearing: map[string]func(Notification){},
		inboxes: map[*inbox]bool{},
		asides:  map[jsonrpc.ID]aside{},
		watched: map[string]int{},

		renewal:     make(chan struct{}, 1),
		subscribing: make(chan struct{}, 1),
	}
	if o != nil {
		c.o = *o
	}
	if c.o.Info.Name == "" {
		c.o.Info = Implementation{Name: "bossman", Version: "0"}
	}
	c.o.Timeout = cmp.Or(c.o.Timeout, time.Minute)
	c.o.MaxTime = cmp.Or(c.o.MaxTime, 30*time.Minute)
	c.o.Probe = cmp.Or(c.o.Probe, 5*time.Second)
	if c.o.Eras == nil {
		c.o.Eras = &everyEra
	}
	if c.log = c.o.Logger; c.log == nil {
		c.log = slog.Default()
	}
	c.capabilities = c.o.capabilities()
	c.era.Store(&settled{})
	c.life, c.end = context.WithCancel(context.Background())
	c.run(t)
	return c
}

// run reads from a transport from now on.
func (c *Client) run(t jsonrpc.Transport) {
	c.transport = t
	c.exchanger, _ = t.(Exchanger)
	if l, ok := t.(Lossy); ok {
		l.OnGap(c.missed)
	}
	c.ended = make(chan struct{})
	ended, peer := c.ended, jsonrpc.NewPeer(t, &jsonrpc.PeerOptions{
		Handle:    c.asked,
		Notified:  func(ctx context.Context, n *jsonrpc.Message) { c.told(ctx, n, nil) },
		Abandoned: c.abandoned,
		Refused:   c.refuse,
		Reserved:  true,
		Panicked: func(m *jsonrpc.Message, v any, stack []byte) {
			c.log.Error("client handler panicked", "method", m.Method, "value", v, "stack", string(stack))
		},
		Batches: func() bool { return c.Revision().Batches() },
	})
	c.peer = peer
	go func() {
		defer close(ended)
		c.why = peer.Run(context.Background()) // whoever waits for an answer is told
	}()
}

// refuse counts what cannot be used, and says so now and then. An answer that comes
// late is no news: its request was given up.
func (c *Client) refuse(err error) {
	n := c.refused.Add(1)
	level := slog.LevelDebug
	if _, ok := errors.AsType[*jsonrpc.Malformed](err); ok {
		level = slog.LevelWarn
		c.noise.Add(1)
	}
	if n&(n-1) != 0 { // 1, 2, 4, 8, …
		return
	}
	c.log.Log(context.Background(), level, "the server said something that cannot be used", "count", n, "err", err)
}

func (o *ClientOptions) capabilities() ClientCapabilities {
	var c ClientCapabilities
	if o.Elicit != nil {
		c.Elicitation = &ElicitationCapability{}
		if o.Revision == 0 || o.Revision.richForms() {
			c.Elicitation = &ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}
		}
	}
	if o.Sample != nil {
		c.Sampling = &SamplingCapability{}
	}
	if o.Roots != nil {
		c.Roots = &RootsCapability{ListChanged: !o.Revision.Stateless()}
	}
	return c
}

// Close ends the conversation and waits for all that the client started. It is not
// for a handler to call, which would wait for itself.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	for in := range c.inboxes {
		in.end()
	}
	c.mu.Unlock()
	c.farewells.Wait() // which is not long
	c.end()
	err := c.transport.Close()
	<-c.ended
	c.wg.Wait()
	return err
}

// Revision is the one that is spoken.
func (c *Client) Revision() Revision { return c.era.Load().revision }

// Server is what the server offers.
func (c *Client) Server() ServerCapabilities { return c.era.Load().server.Capabilities }

// ServerInfo is the server's name for itself. It is for people to read, and
// proves nothing.
func (c *Client) ServerInfo() Implementation { return c.era.Load().server.ServerInfo }

// Instructions tell a model how to use the server.
func (c *Client) Instructions() string { return c.era.Load().server.Instructions }

// Refused is how many messages came that could not be used: text that is no
// message, such as a log line on a server's standard output, and answers to what
// nobody had asked.
func (c *Client) Refused() int64 { return c.refused.Load() }

// Done is closed when the conversation is over, by either side.
func (c *Client) Done() <-chan struct{} { return c.ended }
