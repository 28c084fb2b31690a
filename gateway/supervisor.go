package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/internal/egress"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

const (
	startTimeout  = time.Minute      // of the handshake and the first lists
	startPatience = 20 * time.Second // how long a call waits for a start
	firstRetry    = time.Second
	lastRetry     = 5 * time.Minute
	defaultTTL    = 5 * time.Minute // of an upstream's lists
	relistPause   = time.Second     // between two readings of lists that change all the time
	// steady is how long an upstream must have run for its end not to count as a failed start.
	steady = 10 * time.Second
)

// An instance is one connection to an upstream, or the place for one: asleep, starting or up.
type instance struct {
	g *Gateway
	u *upstream
	// key is the principal whose instance it is; empty if it is everybody's.
	key    string
	number int // of the upstream's instances, from 1 on
	queue  queue

	mu       sync.Mutex
	client   *mcp.Client   // nil unless up
	starting chan struct{} // closed when the start under way has ended; nil if there is none
	failures int
	retryAt  time.Time
	err      error // of the last start
	calls    int   // in progress
	usedAt   time.Time
	listedAt time.Time // zero: they have changed since
	changes  int       // of the lists
	ttl      time.Duration
	hashes   map[item]string // of the definitions in the last list; the upstream is the kind
	relist   sync.Mutex      // held while lists are read
}

// connect returns the connection, and starts the upstream if it is asleep. The caller must call done.
func (i *instance) connect(ctx context.Context) (c *mcp.Client, done func(), err error) {
	patience := time.NewTimer(startPatience)
	defer patience.Stop()
	for {
		i.mu.Lock()
		if i.client != nil {
			select {
			case <-i.client.Done(): // watch will notice
				i.client = nil
				i.mu.Unlock()
				continue
			default:
			}
			i.calls++
			c = i.client
			i.mu.Unlock()
			return c, i.done, nil
		}
		if i.starting == nil {
			if wait := time.Until(i.retryAt); wait > 0 {
				err := i.err
				i.mu.Unlock()
				return nil, nil, &startError{i.u.Name, err, wait}
			}
			if !i.g.spawn(i.start) {
				i.mu.Unlock()
				return nil, nil, errStopped
			}
			i.starting = make(chan struct{})
		}
		starting := i.starting
		i.mu.Unlock()
		select {
		case <-starting:
		case <-patience.C:
			return nil, nil, &startError{upstream: i.u.Name}
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

func (i *instance) done() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls--
	i.usedAt = time.Now()
}

// start connects, reads the lists, and then watches the connection until it ends.
func (i *instance) start(ctx context.Context) {
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	c, err := i.dial(limited)
	if err == nil {
		if err = i.readLists(limited, c); err != nil {
			_ = c.Close()
		}
	}
	cancel()
	i.mu.Lock()
	if err == nil {
		i.client, i.err, i.usedAt = c, nil, time.Now()
	} else {
		i.failedLocked(err)
	}
	close(i.starting)
	i.starting = nil
	i.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			i.g.log.Warn("an upstream could not be started", "upstream", i.u.Name, "err", i.u.redact(err.Error()))
		}
		return
	}
	i.g.log.Info("an upstream was started", "upstream", i.u.Name, "revision", c.Revision().String(), "took", time.Since(begun).Round(time.Millisecond))
	i.watch(ctx, c, time.Now())
}

// failedLocked sets when the next attempt may be made: later after each failure, and at a random time,
// so that not all who wait for the same server come at once.
func (i *instance) failedLocked(err error) {
	i.failures++
	longest := min(lastRetry, firstRetry<<min(i.failures, 10))
	i.err = errors.New(i.u.redact(err.Error()))
	i.retryAt = time.Now().Add(firstRetry/2 + rand.N(longest-firstRetry/2))
}

// watch reads the lists again when they change, and ends the connection when it is not used.
func (i *instance) watch(ctx context.Context, c *mcp.Client, since time.Time) {
	listening, stop := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, err := range c.Listen(listening, mcp.EventFilter{Tools: true, Prompts: true, Resources: true}) {
			if err != nil {
				return // the lists are also read when they are old
			}
			i.mu.Lock()
			i.changes++
			i.listedAt = time.Time{} // a call reads them first
			i.mu.Unlock()
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	idle := time.NewTicker(max(i.u.Idle/4, 10*time.Millisecond))
	defer idle.Stop()
	reason := "it ended"
	var last time.Time
	var again <-chan time.Time
	relist := func() {
		limited, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		if err := i.readLists(limited, c); err != nil && ctx.Err() == nil {
			i.g.log.Warn("the lists of an upstream could not be read", "upstream", i.u.Name, "err", i.u.redact(err.Error()))
		}
		last, again = time.Now(), nil
	}
loop:
	for {
		select {
		case <-ctx.Done():
			reason = "the gateway is stopping"
			break loop
		case <-c.Done():
			break loop
		case <-changed:
			if wait := relistPause - time.Since(last); wait > 0 {
				again = time.After(wait)
			} else {
				relist()
			}
		case <-again:
			relist()
		case <-idle.C:
			i.mu.Lock()
			if i.calls == 0 && time.Since(i.usedAt) >= i.u.Idle {
				i.client = nil // nobody gets it any more
				i.mu.Unlock()
				reason = "it was not used"
				break loop
			}
			i.mu.Unlock()
		}
	}
	stop()
	wg.Wait()
	i.mu.Lock()
	if i.client == c {
		i.client = nil
	}
	select {
	case <-c.Done():
		if ctx.Err() == nil && time.Since(since) < steady {
			i.failedLocked(errors.New("it ended soon after it was started"))
		}
	default:
		i.failures = 0
	}
	if time.Since(since) >= steady {
		i.failures = 0
	}
	i.mu.Unlock()
	_ = c.Close()
	i.g.log.Info("an upstream was stopped", "upstream", i.u.Name, "reason", reason)
}

// dial connects to the upstream.
func (i *instance) dial(ctx context.Context) (*mcp.Client, error) {
	o := &mcp.ClientOptions{
		Info: i.g.o.Info, Logger: i.g.logOf(i.u), Timeout: i.u.Timeout, Redact: i.u.secret.text,
		// A server of older revisions is told at the beginning what clients can do. Questions that
		// belong to no call, or may belong to one of several, are not answered.
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			i.ambiguous()
			return &mcp.ElicitResult{Action: "cancel"}, nil
		},
		Sample: func(context.Context, *mcp.SampleParams) (*mcp.SampleResult, error) {
			i.ambiguous()
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "sampling is only possible while one call runs")
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
	}
	if i.u.isRelay() {
		o.Info = mcp.Implementation{Name: relayClient, Version: i.g.o.Info.Version}
		o.Elicit, o.Sample, o.Roots = nil, nil, nil // each call says what its caller can do
		o.Redact = nil                              // it has none of our secrets
		return i.u.Dial(ctx, o)
	}
	if i.u.URL != "" {
		transport, err := i.transport()
		if err != nil {
			return nil, err
		}
		c, err := streamable.Connect(ctx, i.u.URL, &streamable.ClientOptions{Header: i.u.header(), Logger: o.Logger, Transport: transport}, o)
		if err != nil && i.u.OAuth {
			err = fmt.Errorf("%w; if nobody has logged in to it: bossman gateway login %s", err, i.u.Name)
		}
		return c, err
	}
	command, err := i.command()
	if err != nil {
		return nil, err
	}
	command.Logger, o.Logger = i.g.childLogger(i.u), i.g.childLogger(i.u)
	c, err := i.g.o.Start(ctx, command, o)
	if _, exited := errors.AsType[*mcp.ExitError](err); exited && i.u.Dir == "" && slices.ContainsFunc(i.u.Command[1:], looksRelative) {
		err = fmt.Errorf("%w; it ran in an empty directory, since its section has no dir", err)
	}
	return c, err
}

// ambiguous makes an upstream get one call at a time: it asks on a pipe, where nothing says which call
// a question belongs to.
func (i *instance) ambiguous() {
	i.mu.Lock()
	several := i.calls > 1
	i.mu.Unlock()
	if several {
		i.queue.limit(1)
	}
}

// redact removes all configured values from an error or a line of a log.
func (u *upstream) redact(text string) string { return u.secret.strict(text) }

func (u *upstream) header() http.Header {
	h := http.Header{}
	for name, v := range u.Headers {
		h.Set(name, v.Reveal())
	}
	return h
}

// A guarded transport sends requests only to addresses that are allowed.
type guarded struct {
	check func(string) error
	base  http.RoundTripper
	sent  func(authorization string) // is told what is sent; may be nil
}

func (t *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.check(r.URL.String()); err != nil {
		return nil, err
	}
	if t.sent != nil {
		t.sent(r.Header.Get("Authorization"))
	}
	return t.base.RoundTrip(r)
}

// transport returns what sends the requests to an upstream over HTTP.
func (i *instance) transport() (http.RoundTripper, error) {
	t := i.u.newTransport(i.u.secret.sent)
	if !i.u.OAuth {
		return t, nil
	}
	if i.g.o.Authorize == nil {
		return nil, errors.New("there is nobody to get a token from")
	}
	return i.g.o.Authorize(i.u.Upstream, t)
}

// Transport sends requests to an upstream, and to no address that is not allowed.
func (u *Upstream) Transport() http.RoundTripper { return u.newTransport(nil) }

func (u *Upstream) newTransport(sent func(authorization string)) http.RoundTripper {
	e := egress.New(u.Private)
	t := e.HTTP.Transport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = 0 // a call may take long; it has a time limit of its own
	t.MaxIdleConnsPerHost = maxOverHTTP
	return &guarded{e.Check, t, sent}
}
