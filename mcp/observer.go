package mcp

// connected reports a new connection to the observer. The returned function
// reports its end.
func (s *Server) connected() (closed func(error)) {
	o := &s.o.Observer
	if o.Connected != nil {
		o.Connected()
	}
	return func(err error) {
		if o.Disconnected != nil {
			o.Disconnected(err)
		}
	}
}

// rejected reports input that did not become a request to the observer.
func (s *Server) rejected(err error) {
	s.log.Debug("refused", "err", err)
	if s.o.Observer.Rejected != nil {
		s.o.Observer.Rejected(err)
	}
}

// An Observer is told about events that middleware cannot see. Any field may be
// nil.
type Observer struct {
	// Connected and Disconnected are called for each connection. Over HTTP a connection
	// is a stream on which a client waits for events; calls do not count.
	Connected    func()
	Disconnected func(error)
	// Rejected is called for malformed input and for messages that were dropped;
	// over HTTP also for rejected requests.
	Rejected func(error)
	// Panicked is called when a handler panicked. The client gets an internal
	// error.
	Panicked func(value any, stack []byte)
}
