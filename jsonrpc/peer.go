package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// PeerOptions configures a Peer. The zero value is for a peer that only makes
// calls.
type PeerOptions struct {
	// Handle handles a request and returns its result. A *Error is sent as it
	// is; any other error is sent as an internal error without details. ctx is
	// cancelled when the request is cancelled (cause ErrCancelled) or the peer
	// closes (cause ErrClosed). Handle must not use r after it returns, but may
	// keep r's params.
	Handle func(ctx context.Context, r *Message) (json.RawMessage, error)
	// Notified handles a notification. Notifications are handled one at a time,
	// in order of arrival. A response that arrives after a notification is
	// delivered after it, unless its call was sent while a notification was being
	// handled: such a call may be the handler's own. Only a handler that waits
	// for an earlier call deadlocks.
	Notified func(ctx context.Context, n *Message)
	// Urgent reports whether a method is handled before the next message is
	// read. Such methods are never queued and need no concurrency slot. Their
	// handlers must not block.
	Urgent func(method string) bool
	// Ordered reports whether a request is handled in order: its handler starts
	// when the handler of the ordered request that arrived before it has returned
	// or waits; see Idle and Yield. Nil means that no request is. Ordered must not
	// block.
	Ordered func(r *Message) bool
	// Batches reports whether batches are accepted now. Nil means never.
	Batches func() bool
	// NoID reports whether an error response to no particular request omits its
	// id. If it is false or NoID is nil, the id is written as null.
	NoID func() bool
	// Reserved suppresses error responses to malformed input that has no id. A
	// client sets it, because a server may print other text on the same stream.
	Reserved bool
	// Sent is called with a result of Handle after it was written. Its memory
	// may then be reused.
	Sent func(result json.RawMessage)
	// Abandoned is called when a caller gave up a call before its response
	// came.
	Abandoned func(id ID, method string, cause error)
	// Refused is called for malformed input and for messages that were dropped.
	Refused func(err error)
	// Panicked is called when a handler panics. The request is still answered
	// with an internal error.
	Panicked func(m *Message, value any, stack []byte)

	InFlight int           // limit of requests handled concurrently; default 256
	Queue    int           // limit of requests waiting for a slot, then "busy"; default 1024
	Grace    time.Duration // time that requests get to finish after EOF, see Finish; default 5 s
}

// A Peer is one end of a connection. It makes calls and handles the requests of
// the other end. It reads nothing before Run.
type Peer struct {
	t        Transport
	buffered bufferedTransport // t, if it can buffer packets; otherwise nil
	o        PeerOptions

	baseCtx   context.Context // parent of all request contexts
	cancel    context.CancelCauseFunc
	stop      chan error     // receives the read or write error that ends Run
	eof       chan struct{}  // closed when the other end has stopped sending
	drained   chan struct{}  // closed when closing and nothing is active
	drainOnce sync.Once      // closes drained
	wg        sync.WaitGroup // all goroutines that read or handle
	watchdog  *watchdog      // fires when the reading goroutine is busy for too long
	closed    atomic.Bool    // the transport is closed or about to be

	// Used by the reading goroutine only.
	ownGoroutine       int  // how many of the next requests start in their own goroutine
	ownGoroutineWindow int  // initial value of ownGoroutine after the last slow request
	needFlush          bool // a response is buffered

	mu          sync.Mutex
	inline      *request        // request handled by the reading goroutine
	inFlight    map[ID]*request // requests handled by other goroutines, and queued ones
	running     int             // how many of them have a concurrency slot
	queue       []*request      // requests that wait for a slot
	turn        *request        // ordered request that is handled now
	turns       []*request      // ordered requests that wait for their turn
	queuedBytes int             // size of the params in queue and turns
	idling      int             // number of idle requests
	finishing   int             // number of requests that called Finish
	writing     int             // number of requests whose response is being written
	active      int             // number of unfinished requests and notifications
	closing     bool
	calls       map[ID]*pendingCall // outgoing calls without a response yet
	lastID      int64
	closeErr    error        // returned by Call once the peer is closing
	notifyBusy  bool         // a notification is being handled
	notifyQueue []queuedItem // notifications, and responses that arrived after them
	notifyBytes int          // size of the params in notifyQueue
}

// NewPeer returns a peer that communicates over t.
func NewPeer(t Transport, o *PeerOptions) *Peer {
	p := &Peer{
		t:        t,
		stop:     make(chan error, 2),
		eof:      make(chan struct{}),
		drained:  make(chan struct{}),
		inFlight: map[ID]*request{},
		calls:    map[ID]*pendingCall{},
	}
	if o != nil {
		p.o = *o
	}
	if p.o.InFlight == 0 {
		p.o.InFlight = 256
	}
	if p.o.Queue == 0 {
		p.o.Queue = 1024
	}
	if p.o.Grace == 0 {
		p.o.Grace = 5 * time.Second
	}
	if p.buffered, _ = t.(bufferedTransport); p.buffered != nil {
		p.buffered.onError(p.fail)
	}
	return p
}

// Run reads and handles messages until the other end closes the connection, ctx
// is done, or the transport fails. It then gives active requests time to finish
// and closes the transport. Run returns nil if the other end closed the
// connection normally. When it returns, all goroutines it started have ended,
// unless a handler ignores its context or closing the transport does not
// unblock Receive.
func (p *Peer) Run(ctx context.Context) error {
	p.baseCtx, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	p.watchdog = newWatchdog(takeOverAfter, p.takeOver)
	p.wg.Go(p.read)

	var err error
	select {
	case err = <-p.stop:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.beginClose(err)
	if errors.Is(err, io.EOF) {
		close(p.eof)
	}
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		done := wait(p.drained, p.o.Grace)
		if !done && errors.Is(err, io.EOF) {
			p.waitFinishing(ctx)
		}
	}
	p.cancel(ErrClosed)
	busy := !wait(p.drained, time.Second)
	p.closed.Store(true)
	closeErr := p.t.Close()
	p.watchdog.stop()
	done := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(done)
	}()
	wait(done, 100*time.Millisecond)
	select {
	case late := <-p.stop: // a response could not be written
		if errors.Is(err, io.EOF) {
			err = late
		}
	default:
	}
	switch {
	case busy && !errors.Is(err, ErrStalled):
		return errors.Join(err, errors.New("jsonrpc: a handler is still running"))
	case errors.Is(err, io.EOF):
		return closeErr
	}
	return err
}

// readerInterval is how often waitFinishing looks whether the response can still be read.
const readerInterval = time.Second

// waitFinishing cancels all requests but those that called Finish, and waits for these. It
// returns early if ctx is done or nobody can read their responses.
func (p *Peer) waitFinishing(ctx context.Context) {
	p.mu.Lock()
	for _, r := range p.inFlight {
		if !r.finish {
			r.cancelLocked(ErrClosed)
		}
	}
	p.mu.Unlock()
	ticker := time.NewTicker(readerInterval)
	defer ticker.Stop()
	for p.isFinishing() && (p.buffered == nil || !p.buffered.hungUp()) {
		select {
		case <-p.drained:
			return
		case <-ctx.Done():
			return
		case err := <-p.stop: // something could not be written
			p.fail(err)
			return
		case <-ticker.C:
		}
	}
}

func (p *Peer) isFinishing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.finishing > 0
}

// wait reports whether c was closed within d.
func wait(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// beginClose fails all pending calls with ErrClosed, wrapping reason if it is
// not an ordinary end, and cancels idle requests.
func (p *Peer) beginClose(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = true
	p.closeErr = ErrClosed
	if !errors.Is(reason, io.EOF) && !errors.Is(reason, ErrClosed) {
		p.closeErr = fmt.Errorf("%w: %w", ErrClosed, reason)
	}
	for id, q := range p.calls {
		delete(p.calls, id)
		q.outcome <- outcome{err: p.closeErr}
	}
	for _, r := range p.inFlight {
		if r.idle && !r.patient {
			r.cancelLocked(ErrClosed)
		}
	}
	p.checkDrainedLocked()
}

// checkDrainedLocked closes p.drained if the peer is closing and nothing is
// active.
func (p *Peer) checkDrainedLocked() {
	if p.closing && p.active == 0 {
		p.drainOnce.Do(func() { close(p.drained) })
	}
}

// fail ends Run with err. It never blocks; later errors may be dropped.
func (p *Peer) fail(err error) {
	select {
	case p.stop <- err:
	default:
	}
}

func (p *Peer) send(ctx context.Context, pk Packet) error {
	err := p.t.Send(ctx, pk)
	// A Send that fails after we closed the transport is not an error.
	if err != nil && ctx.Err() == nil && !p.closed.Load() {
		p.fail(err)
	}
	return err
}

// Cancel cancels the incoming request with this id: its context ends with cause
// ErrCancelled, and no response is sent. Cancel ignores an id that is not in
// flight.
func (p *Peer) Cancel(id ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.inFlight[id]
	if r == nil && p.inline != nil && p.inline.m.ID == id && !id.IsZero() {
		r = p.inline
	}
	if r != nil {
		r.cancelled = true
		r.cancelLocked(ErrCancelled)
	}
}

func (p *Peer) reportRefused(err error) {
	if p.o.Refused != nil {
		p.o.Refused(err)
	}
}
