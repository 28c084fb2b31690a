package replica

import "context"

// A Relay carries messages between the replicas that serve the same clients.
// Messages may be lost, duplicated, delayed or reordered. Most are a few
// hundred bytes long; a client's response may be as long as streamable.Options.Limits
// allow, plus half of that. Anyone who can write to a Relay can act on behalf
// of its clients.
type Relay interface {
	// Send sends a message to one replica, or to all others if to is empty. It
	// does not wait for them.
	Send(ctx context.Context, to string, message []byte) error
	// Receive calls handle for each message sent to the named replica or to
	// all, until stop is called. handle returns quickly, does not keep the
	// message, and may be called concurrently.
	Receive(name string, handle func(message []byte)) (stop func())
}
