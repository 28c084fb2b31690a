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

	jsonv2 "github.com/go-json-experiment/json"
)

// PeerOptions say how a Peer behaves. The zero value is a peer that only asks.
type PeerOptions struct {
	// Handle answers a request. A *Error goes out as it is; any other error as
	// an internal one that tells nothing. The context ends when the request is
	// cancelled or the conversation is over, and context.Cause tells which. The
	// message must not be used after that, but what it held may be kept.
	Handle func(ctx context.Context, r *Message) (json.RawMessage, error)
	// Notified is told of notifications, one after the other in the order they
	// came. A response that came later is delivered later.
	Notified func(ctx context.Context, n *Message)
	// Urgent names the methods that are handled before the next message is
	// read. They are never queued and do not count. They must be quick.
	Urgent func(method string) bool
	// Batches reports whether a batch is welcome now. Nil: never.
	Batches func() bool
	// NoID reports whether an error that belongs to no request leaves out its
	// id. Nil: it is written as null.
	NoID func() bool
	// Reserved leaves bytes that are no message, and belong to no request,
	// unanswered: what a server writes beside the protocol is no reason to write
	// something back to it.
	Reserved bool
	// Sent is told of a result of Handle's that is no longer needed: its memory
	// may be used again.
	Sent func(result json.RawMessage)
	// Abandoned is told of a call of ours whose caller has gone.
	Abandoned func(id ID, method string, cause error)
	// Refused is told of bytes that were no message, and of messages dropped.
	Refused func(err error)
	// Panicked is told when a handler panics. The request is answered with an
	// internal error all the same.
	Panicked func(m *Message, value any, stack []byte)

	InFlight int           // requests handled at once; 256
	Queue    int           // requests that wait for a place, then "busy"; 1024
	Grace    time.Duration // what requests still get after the other side's end; 5 s
}

// A Peer is one side of a conversation: it asks, and answers the other side.
// Nothing is read before Run.
type Peer struct {
	t    Transport
	held holder // t, if it can hold packets back
	o    PeerOptions

	base    context.Context // the parent of every request's
	laneCtx context.Context
	cancel  context.CancelCauseFunc
	end     chan error     // why there is nothing more to read, or no way to write
	quiet   chan struct{}  // closed when closing, and nothing is being handled
	hush    sync.Once      // closes quiet
	wg      sync.WaitGroup // every goroutine that reads or handles
	dog     *watchdog      // notices when the reading goroutine is busy too long
	slow    int            // so many requests get a goroutine at once; the reader's
	wary    int            // what slow began with, after the last slow request; the reader's
	holding bool           // an answer is held back; the reader's
	left    atomic.Bool    // we have closed the transport, or are about to

	mu       sync.Mutex
	inline   *request        // what the reading goroutine is busy with
	handling map[ID]*request // what others are busy with, or waits
	running  int             // how many of those count
	waiting  []*request      // those without a place
	queued   int             // the bytes of their params
	idling   int             // how many are Idle
	writing  int             // how many have been handled, and write
	active   int             // all that is being handled or waits
	closing  bool
	asked    map[ID]*question
	lastID   int64
	ended    error // why nothing can be asked any more
	laneBusy bool
	lane     []turn

	laneBytes int // of what waits there
}

// A question is a request of ours that waits for its answer.
type question struct {
	answer chan answer // holds one
	ahead  bool        // asked by a notification's handler: must not wait for the lane
}

type answer struct {
	m   *Message
	err error
}

// NewPeer makes a peer that talks over t.
func NewPeer(t Transport, o *PeerOptions) *Peer {
	p := &Peer{
		t:        t,
		end:      make(chan error, 2),
		quiet:    make(chan struct{}),
		handling: map[ID]*request{},
		asked:    map[ID]*question{},
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
	if p.held, _ = t.(holder); p.held != nil {
		p.held.failing(p.broken)
	}
	return p
}

// Run reads and handles until the other side ends, ctx does, or the transport
// fails; then it gives what is being handled a moment to finish, and closes the
// transport. It returns nil when the other side ended in the ordinary way. All
// that it began has ended then, unless a handler does not heed its context or
// the transport's reader cannot be woken by closing it.
func (p *Peer) Run(ctx context.Context) error {
	p.base, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	p.laneCtx = context.WithValue(p.base, laneKey{}, p)
	p.dog = newWatchdog(patience, p.takeOver)
	p.wg.Go(p.read)

	var err error
	select {
	case err = <-p.end:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.leave(err)
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		wait(p.quiet, p.o.Grace)
	}
	p.cancel(ErrClosed)
	busy := !wait(p.quiet, time.Second)
	p.left.Store(true)
	closeErr := p.t.Close()
	p.dog.stop()
	done := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(done)
	}()
	wait(done, 100*time.Millisecond)
	select {
	case late := <-p.end: // what was being handled could not be answered
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

// leave begins the end: what waits for the other side waits in vain. Whoever asked
// is told the reason, if it is out of the ordinary.
func (p *Peer) leave(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = true
	p.ended = ErrClosed
	if !errors.Is(reason, io.EOF) && !errors.Is(reason, ErrClosed) {
		p.ended = fmt.Errorf("%w: %w", ErrClosed, reason)
	}
	for id, q := range p.asked {
		delete(p.asked, id)
		q.answer <- answer{err: p.ended}
	}
	for _, r := range p.handling {
		if r.idle {
			r.cancelLocked(ErrClosed)
		}
	}
	p.settleLocked()
}

// settleLocked notices when nothing is being handled any more.
func (p *Peer) settleLocked() {
	if p.closing && p.active == 0 {
		p.hush.Do(func() { close(p.quiet) })
	}
}

// broken ends Run because nothing can be written any more.
func (p *Peer) broken(err error) {
	select {
	case p.end <- err:
	default:
	}
}

// Call asks the other side and waits for the answer. An error it answered with
// is a *Error. If ctx ends first, the answer is no longer waited for.
func (p *Peer) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return p.CallWithID(ctx, method, params, nil)
}

// CallWithID is Call, and tells the request's id before it is sent: for what the
// other side says about it by that name.
func (p *Peer) CallWithID(ctx context.Context, method string, params any, began func(ID)) (json.RawMessage, error) {
	raw, err := encode(params)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	q := &question{answer: make(chan answer, 1), ahead: ctx.Value(laneKey{}) == p}
	p.mu.Lock()
	if p.ended != nil {
		p.mu.Unlock()
		return nil, p.ended
	}
	p.lastID++
	id := IntID(p.lastID)
	p.asked[id] = q
	p.mu.Unlock()

	if began != nil {
		began(id)
	}
	if err := p.send(ctx, One(&Message{ID: id, Method: method, Params: raw})); err != nil {
		p.forget(id)
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	select {
	case a := <-q.answer:
		switch {
		case a.err != nil:
			return nil, fmt.Errorf("call %s: %w", method, a.err)
		case a.m.Error != nil:
			return nil, a.m.Error
		}
		return a.m.Result, nil
	case <-ctx.Done():
		if p.forget(id) && p.o.Abandoned != nil {
			p.o.Abandoned(id, method, context.Cause(ctx))
		}
		return nil, context.Cause(ctx)
	}
}

// forget reports whether the question was still open.
func (p *Peer) forget(id ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, open := p.asked[id]
	delete(p.asked, id)
	return open
}

// Notify tells the other side something.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	raw, err := encode(params)
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return p.send(ctx, One(&Message{Method: method, Params: raw}))
}

func (p *Peer) send(ctx context.Context, pk Packet) error {
	err := p.t.Send(ctx, pk)
	if err != nil && ctx.Err() == nil && !p.left.Load() { // what comes after our own end is late, and breaks nothing
		p.broken(err)
	}
	return err
}

func encode(params any) (json.RawMessage, error) {
	switch v := params.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(v) == 0 {
			return nil, nil
		}
		return v, nil
	}
	return jsonv2.Marshal(params, jsonv2.Deterministic(true))
}

// Cancel ends the request of the other side that has this id: its context is
// cancelled with ErrCancelled, and it is not answered. An id that is not being
// handled is ignored.
func (p *Peer) Cancel(id ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.handling[id]
	if r == nil && p.inline != nil && p.inline.m.ID == id && !id.IsZero() {
		r = p.inline
	}
	if r != nil {
		r.gone = true
		r.cancelLocked(ErrCancelled)
	}
}

// answered delivers a response, or drops it if nobody asked.
func (p *Peer) answered(m *Message) {
	switch {
	case p.deliver(m.ID, answer{m: m}):
	case m.ID.IsZero():
		p.refused(fmt.Errorf("error that belongs to no request: %w", m.Error))
	default:
		p.refused(fmt.Errorf("response to id %s, which was not asked", m.ID))
	}
}

// deliver hands an answer, or what was wrong with it, to whoever asked. It
// reports whether somebody did.
func (p *Peer) deliver(id ID, a answer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.asked[id]
	if q == nil {
		return false
	}
	delete(p.asked, id)
	if p.laneBusy && !q.ahead {
		p.lane = append(p.lane, turn{take: func() { q.answer <- a }})
	} else {
		q.answer <- a // has room for one
	}
	return true
}

func (p *Peer) refused(err error) {
	if p.o.Refused != nil {
		p.o.Refused(err)
	}
}
