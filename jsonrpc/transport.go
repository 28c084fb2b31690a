package jsonrpc

import (
	"context"
	"io"
	"sync"
)

// A Transport carries packets between two sides, in order and whole.
//
// Send may be called from several goroutines at once, Receive from one. Close
// may be called at any time and more than once; it ends a Receive that waits,
// and Send after it fails. What was sent before Close still arrives.
type Transport interface {
	// Send hands over one packet, and keeps nothing of it. It may return before
	// the other side has it; an error met later is told by the next Send.
	Send(ctx context.Context, p Packet) error
	// Receive waits for the next packet. A *Malformed error is not final: there
	// were bytes that are no message, and the next Receive goes on behind them.
	// Any other error is final; io.EOF is the other side's ordinary end.
	Receive(ctx context.Context) (Packet, error)
	Close() error
}

// A holder is a transport that can hold packets back for a moment, so that
// several go out in one write. Peer uses it while more input is at hand.
type holder interface {
	// hold is Send, but the packet may wait for the next flush.
	hold(p Packet) error
	flush() error
	// ready reports whether Receive will return without waiting.
	ready() bool
	// failing names who is told of an error that comes when Send has returned.
	failing(tell func(error))
}

// Pipe returns the two ends of a connection in memory. Packets pass through
// their JSON text, as they would on a wire, within the limits given.
func Pipe(limits Limits) (Transport, Transport) {
	ab, ba := newQueue(), newQueue()
	return &pipeEnd{in: ba, out: ab, limits: limits}, &pipeEnd{in: ab, out: ba, limits: limits}
}

// A queue is one direction of a Pipe.
type queue struct {
	packets chan []byte
	once    sync.Once
	closed  chan struct{}
}

func newQueue() *queue {
	return &queue{packets: make(chan []byte, 64), closed: make(chan struct{})}
}

func (q *queue) close() { q.once.Do(func() { close(q.closed) }) }

type pipeEnd struct {
	in, out *queue
	limits  Limits
}

var _ Transport = (*pipeEnd)(nil)

func (e *pipeEnd) Send(ctx context.Context, p Packet) error {
	select {
	case <-e.out.closed:
		return ErrClosed
	default:
	}
	select {
	case e.out.packets <- p.Append(nil):
		return nil
	case <-e.out.closed:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *pipeEnd) Receive(ctx context.Context) (Packet, error) {
	select {
	case b := <-e.in.packets:
		return Decode(b, e.limits)
	default:
	}
	select {
	case b := <-e.in.packets:
		return Decode(b, e.limits)
	case <-e.in.closed:
		select { // what was sent before the end comes first
		case b := <-e.in.packets:
			return Decode(b, e.limits)
		default:
			return Packet{}, io.EOF
		}
	case <-ctx.Done():
		return Packet{}, context.Cause(ctx)
	}
}

func (e *pipeEnd) Close() error {
	e.out.close()
	e.in.close()
	return nil
}
