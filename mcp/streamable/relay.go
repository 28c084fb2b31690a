package streamable

import "context"

// A Relay carries messages between the replicas that serve the same clients. A
// message may be lost, come twice, late, or before one that was sent earlier. Most
// have a few hundred bytes; a client's answer may have as many as Options.Limits
// allow, and somewhat more. Whoever can write to a Relay can act for its clients.
type Relay interface {
	// Send gives a message to one replica, or to all others if to is empty. It does
	// not wait for them.
	Send(ctx context.Context, to string, message []byte) error
	// Receive hears what is sent to a replica by name, or to all, until stop. It is
	// called from one goroutine or several, must be quick, and keeps no message.
	Receive(name string, hear func(message []byte)) (stop func())
}
