package mcp

import (
	"crypto/rand"

	"github.com/bossman-dev/bossman/mcp/replica"
)

// randomKeyring returns a keyring with a random key.
func randomKeyring() *replica.Keyring {
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	k, err := replica.NewKeyring(secret[:])
	if err != nil {
		panic(err)
	}
	return k
}

// publish publishes an event to all replicas.
func (s *Server) publish(e Event) { s.o.Bus.Publish(string(e.Kind), e.Name) }

// changed publishes that a list has changed.
func (s *Server) changed(kind Kind) {
	switch kind {
	case KindTool:
		s.publish(Event{Kind: EventTools})
	case KindPrompt:
		s.publish(Event{Kind: EventPrompts})
	default:
		s.publish(Event{Kind: EventResources})
	}
}

// ResourceUpdated notifies the subscribers of a resource that it has changed.
//
// Name parts of the resource if principals see different parts of it. Then only
// those subscribers are notified that see one of the parts, according to
// ServerOptions.SeesPart: others would learn when something changes that is hidden
// from them.
func (s *Server) ResourceUpdated(uri string, parts ...string) {
	if len(parts) == 0 {
		s.publish(Event{Kind: EventResource, Name: uri})
	}
	for _, part := range parts {
		s.publish(Event{Kind: eventPart, Name: uri + "#" + part})
	}
}
