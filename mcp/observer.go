package mcp

// Opened reports a new connection to the observer. The returned function
// reports its end.
func (s *Server) Opened() (closed func(error)) {
	o := &s.o.Observer
	if o.Opened != nil {
		o.Opened()
	}
	return func(err error) {
		if o.Closed != nil {
			o.Closed(err)
		}
	}
}

// Refused reports input that did not become a request to the observer.
func (s *Server) Refused(err error) {
	s.log.Debug("refused", "err", err)
	if s.o.Observer.Refused != nil {
		s.o.Observer.Refused(err)
	}
}

// An Observer is told about events that middleware cannot see. Any field may be
// nil.
type Observer struct {
	// Opened and Closed are called for each connection. Over HTTP a connection
	// is a stream on which a client waits for events; calls do not count.
	Opened func()
	Closed func(error)
	// Refused is called for malformed input and for messages that were dropped;
	// over HTTP also for rejected requests.
	Refused func(error)
	// Panic is called when a handler panicked. The client gets an internal
	// error.
	Panic func(value any, stack []byte)
}
