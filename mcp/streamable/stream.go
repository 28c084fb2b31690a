package streamable

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	resumeTimeout = 5 * time.Minute  // how long a broken stream waits for its client
	lingerTimeout = 10 * time.Second // the same after its last event
	maxKept       = 1 << 20          // limit of kept events of one stream, in bytes
	maxKeptTotal  = 64 << 20         // limit of kept events of all streams
	eventCost     = 64               // memory of an event besides its text
	streamCost    = 1 << 10          // memory of a stream besides its events
	retryAfter    = time.Second      // reconnection time for clients, unless a call sets it
)

// errClientGone wraps context.Canceled, which is what happens to the requests
// of a client that disconnects.
var errClientGone = fmt.Errorf("streamable: the client has disconnected: %w", context.Canceled)

// A stream is a sequence of events for a client. A stream with an id keeps its
// events, so that the client can reconnect and receive those it missed.
type stream struct {
	id        string
	keptBytes *atomic.Int64 // total of all streams
	onForget  func()        // removes the stream; not called with the lock held

	stopWatching func() bool // of an exchange: stops watching its first connection

	mu        sync.Mutex
	out       *conn // nil if nobody is connected
	seq       uint64
	events    []event
	size      int
	closed    bool          // there will be no more events
	forgotten bool          // and the kept ones can no longer be fetched
	timer     *time.Timer   // runs while a kept stream is broken
	lost      chan struct{} // closed when the client did not reconnect in time
	onLost    func()        // called when it is forgotten before its last event was written; may be nil
}

type event struct {
	seq  uint64
	text []byte
}

// newStream starts a stream on a connection.
func newStream(id string, out *conn, total *atomic.Int64, drop func()) *stream {
	return &stream{id: id, out: out, keptBytes: total, onForget: drop, lost: make(chan struct{})}
}

// prime sends an event that only has an id.
func (s *stream) prime() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitLocked(nil, appendRetry(nil, retryAfter))
}

// send sends a message. A kept stream accepts it even if nobody is connected.
func (s *stream) send(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emitLocked(message, nil)
}

func (s *stream) emitLocked(data, prefix []byte) error {
	if s.closed {
		return errClientGone
	}
	id := ""
	if s.id != "" {
		s.seq++
		id = s.id + "-" + strconv.FormatUint(s.seq, 36)
	}
	text := appendEvent(prefix, id, data)
	if id != "" {
		s.keepLocked(event{s.seq, text})
	}
	return s.writeLocked(text)
}

// keepLocked keeps an event, dropping the oldest ones if there is no room.
func (s *stream) keepLocked(e event) {
	s.events = append(s.events, e)
	s.growLocked(len(e.text) + eventCost)
	for len(s.events) > 0 && (s.size > maxKept && len(s.events) > 1 || s.keptBytes.Load() > maxKeptTotal) {
		s.growLocked(-len(s.events[0].text) - eventCost)
		s.events = s.events[1:]
	}
}

func (s *stream) growLocked(n int) {
	s.size += n
	s.keptBytes.Add(int64(n))
}

// forget drops a stream that will not be resumed.
func (s *stream) forget() {
	s.mu.Lock()
	s.growLocked(-s.size)
	s.events, s.closed, s.forgotten = nil, true, true
	onLost := s.onLost
	s.onLost = nil
	s.mu.Unlock()
	s.onForget()
	if onLost != nil {
		onLost()
	}
}

// writeLocked writes to the current connection.
func (s *stream) writeLocked(text []byte) error {
	if s.out != nil {
		if err := s.out.write(text); err != nil {
			s.disconnectLocked()
		}
	}
	if s.out == nil && s.id == "" {
		return errClientGone
	}
	return nil
}

// comment keeps the connection open, and detects whether it is.
func (s *stream) comment() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.out == nil {
		return errClientGone
	}
	if err := s.out.write(comment); err != nil {
		s.disconnectLocked()
		return errClientGone
	}
	return nil
}

// disconnectLocked handles a lost connection. A kept stream waits for its
// client.
func (s *stream) disconnectLocked() {
	if s.out == nil {
		return
	}
	s.dropConnLocked()
	if s.id != "" && s.timer == nil {
		s.timer = time.AfterFunc(resumeTimeout, s.abandon)
	}
}

// dropConnLocked detaches the current connection.
func (s *stream) dropConnLocked() {
	if s.out != nil && s.out.onClose != nil {
		s.out.onClose()
	}
	s.out = nil
}

// unread reports whether the last event was lost, because nobody is connected. If the stream is
// kept, its client may still fetch it; then unread returns false, and f is called if it does not.
func (s *stream) unread(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil && s.id != "" && !s.forgotten {
		s.onLost = f
		return false
	}
	return s.out == nil
}

// abandon drops a kept stream whose client has not reconnected.
func (s *stream) abandon() {
	s.mu.Lock()
	if s.out != nil || s.timer == nil {
		s.mu.Unlock()
		return
	}
	s.timer.Stop()
	s.closed, s.timer = true, nil
	close(s.lost)
	s.mu.Unlock()
	s.forget()
}

// terminate ends the stream and its connection: its principal may not receive
// anything more.
func (s *stream) terminate() {
	s.mu.Lock()
	s.closed = true
	if s.out != nil {
		_ = s.out.end()
		s.out = nil
	}
	s.mu.Unlock()
	s.abandon()
}

// detach handles the end of connection c.
func (s *stream) detach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == c {
		s.disconnectLocked()
	}
}

// pause closes the connection and makes the client reconnect.
func (s *stream) pause(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil || s.out.write(append(appendRetry(nil, after), '\n')) != nil || !s.out.end() {
		return
	}
	s.out = nil
	s.timer = time.AfterFunc(max(resumeTimeout, 2*after), s.abandon)
}

// attach continues the stream on another connection, after the event seen. It
// reports whether there is more to come; then c.onClose is called when it has
// come.
func (s *stream) attach(c *conn, seen uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgotten {
		return false
	}
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.dropConnLocked()
	s.out = c
	for _, e := range s.events {
		if e.seq > seen && s.out != nil {
			_ = s.writeLocked(e.text)
		}
	}
	if s.closed {
		if s.out != nil {
			s.onLost = nil
		}
		s.lingerLocked()
	}
	return s.out != nil
}

// missed returns the messages after the event seen.
func (s *stream) missed(seen uint64) (messages [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		_, data, _ := bytes.Cut(e.text, []byte("data: "))
		if data = bytes.TrimSpace(data); e.seq > seen && len(data) > 0 {
			messages = append(messages, data)
		}
	}
	return messages
}

// last returns the number of the last event.
func (s *stream) last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// close ends the stream after its last event.
func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	delivered := s.out != nil
	if delivered && s.id != "" && s.keptBytes.Load() < maxKeptTotal/2 {
		s.growLocked(streamCost)
		s.lingerLocked()
	}
	keep := s.timer != nil // the client may reconnect for the rest
	s.dropConnLocked()
	s.mu.Unlock()
	if !keep {
		s.forget()
	}
}

// lingerLocked keeps a finished stream for a while, because a connection that
// breaks now loses what is in transit.
func (s *stream) lingerLocked() {
	s.dropConnLocked()
	if s.timer == nil {
		s.timer = time.AfterFunc(lingerTimeout, s.abandon)
	}
}

// parseEventID splits the id of an event into stream and number.
func parseEventID(id string) (stream string, seq uint64, ok bool) {
	stream, number, ok := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 36, 64)
	return stream, seq, ok && err == nil
}
