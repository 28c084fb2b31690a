package jsonrpc

import "context"

// A Transport carries packets between two ends, whole and in order.
//
// Send may be called by several goroutines at once, Receive by one. Close may
// be called at any time and more than once. It unblocks a waiting Receive, and
// a later Send fails. Packets sent before Close still arrive.
type Transport interface {
	// Send sends a packet and does not retain it. It may return before the
	// other end has received the packet; a later error is returned by the next
	// Send.
	Send(ctx context.Context, p Packet) error
	// Receive returns the next packet. A *Malformed error is not final: the
	// input was not a message, and the next Receive continues after it. Any
	// other error is final; io.EOF means that the other end closed the
	// connection normally.
	Receive(ctx context.Context) (Packet, error)
	Close() error
}

// A bufferedTransport can delay packets, to send several in one write. Peer
// uses it while more input is available.
type bufferedTransport interface {
	// buffer is like Send, but the packet may wait for the next flush.
	buffer(p Packet) error
	flush() error
	// ready reports whether Receive will return without blocking.
	ready() bool
	// onError sets the function called with a write error after Send returned.
	onError(f func(error))
	// hungUp reports whether it is known that nobody can read what is sent.
	hungUp() bool
}
