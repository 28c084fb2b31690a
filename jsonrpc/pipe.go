package jsonrpc

import (
	"context"
	"io"
	"sync"
)

// Pipe returns the two ends of an in-memory connection. Packets are encoded and
// decoded, as on a network, within the given limits.
func Pipe(limits Limits) (Transport, Transport) {
	ab, ba := newPipeQueue(), newPipeQueue()
	return &pipeEnd{in: ba, out: ab, limits: limits}, &pipeEnd{in: ab, out: ba, limits: limits}
}

// A pipeQueue is one direction of a Pipe.
type pipeQueue struct {
	packets chan []byte
	once    sync.Once
	closed  chan struct{}
}

func newPipeQueue() *pipeQueue {
	return &pipeQueue{packets: make(chan []byte, 64), closed: make(chan struct{})}
}

func (q *pipeQueue) close() { q.once.Do(func() { close(q.closed) }) }

type pipeEnd struct {
	in, out *pipeQueue
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
		select { // packets sent before Close come first
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
