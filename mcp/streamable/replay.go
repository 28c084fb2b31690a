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
	keepFor    = 5 * time.Minute  // how long a broken stream waits for its client
	lingerFor  = 10 * time.Second // the same after its last event
	keepBytes  = 1 << 20          // how much of a stream is kept
	keepTotal  = 64 << 20         // how much of all streams together
	eventCost  = 64               // what an event takes beside its text
	streamCost = 1 << 10          // what a stream takes beside its events
	retryAfter = time.Second      // when clients are to come back, unless a call says
)

// errGone is a kind of context.Canceled: that is what happens to the requests of a
// client that has gone.
var errGone = fmt.Errorf("streamable: the client has gone: %w", context.Canceled)

// A stream is a sequence of events for a client. One with an id keeps its events,
// so that the client can come back for those that it has missed.
type stream struct {
	id    string
	total *atomic.Int64 // what all streams keep
	drop  func()        // forgets the stream; it is not called with the lock held

	unwatch func() bool // of an exchange: it no longer cares for its first connection

	mu     sync.Mutex
	out    *conn // nil: nobody is connected
	seq    uint64
	events []event
	size   int
	over   bool          // there will be no more events
	gone   bool          // and nobody can come back for those there were
	timer  *time.Timer   // runs while a kept stream is broken
	lost   chan struct{} // closed when the client did not come back in time
}

type event struct {
	seq  uint64
	text []byte
}

// newStream begins a stream on a connection.
func newStream(id string, out *conn, total *atomic.Int64, drop func()) *stream {
	return &stream{id: id, out: out, total: total, drop: drop, lost: make(chan struct{})}
}

// prime sends the event that only gives an id.
func (s *stream) prime() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitLocked(nil, appendRetry(nil, retryAfter))
}

// send sends a message. A kept stream takes it also when nobody is connected.
func (s *stream) send(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emitLocked(message, nil)
}

func (s *stream) emitLocked(data, prefix []byte) error {
	if s.over {
		return errGone
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

// keepLocked keeps an event. If there is no room, the oldest ones go.
func (s *stream) keepLocked(e event) {
	s.events = append(s.events, e)
	s.growLocked(len(e.text) + eventCost)
	for len(s.events) > 0 && (s.size > keepBytes && len(s.events) > 1 || s.total.Load() > keepTotal) {
		s.growLocked(-len(s.events[0].text) - eventCost)
		s.events = s.events[1:]
	}
}

func (s *stream) growLocked(n int) {
	s.size += n
	s.total.Add(int64(n))
}

// forget drops a stream that nobody will come back for.
func (s *stream) forget() {
	s.mu.Lock()
	s.growLocked(-s.size)
	s.events, s.over, s.gone = nil, true, true
	s.mu.Unlock()
	s.drop()
}

// writeLocked writes to whoever is connected.
func (s *stream) writeLocked(text []byte) error {
	if s.out != nil {
		if err := s.out.write(text); err != nil {
			s.breakLocked()
		}
	}
	if s.out == nil && s.id == "" {
		return errGone
	}
	return nil
}

// comment keeps the connection open, and finds out whether it is.
func (s *stream) comment() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.out == nil {
		return errGone
	}
	if err := s.out.write(comment); err != nil {
		s.breakLocked()
		return errGone
	}
	return nil
}

// breakLocked: the connection is gone. A kept stream waits for its client.
func (s *stream) breakLocked() {
	if s.out == nil {
		return
	}
	s.leaveLocked()
	if s.id != "" && s.timer == nil {
		s.timer = time.AfterFunc(keepFor, s.giveUp)
	}
}

// leaveLocked: nothing more is written to whoever is connected.
func (s *stream) leaveLocked() {
	if s.out != nil && s.out.gone != nil {
		s.out.gone()
	}
	s.out = nil
}

// giveUp drops a kept stream whose client has not come back.
func (s *stream) giveUp() {
	s.mu.Lock()
	if s.out != nil || s.timer == nil {
		s.mu.Unlock()
		return
	}
	s.timer.Stop()
	s.over, s.timer = true, nil
	close(s.lost)
	s.mu.Unlock()
	s.forget()
}

// cut ends the stream and the connection that it has: whose it is may hear nothing
// more.
func (s *stream) cut() {
	s.mu.Lock()
	s.over = true
	if s.out != nil {
		_ = s.out.end()
		s.out = nil
	}
	s.mu.Unlock()
	s.giveUp()
}

// detach: the connection c ends.
func (s *stream) detach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == c {
		s.breakLocked()
	}
}

// pause ends the connection, and has the client come back.
func (s *stream) pause(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil || s.out.write(append(appendRetry(nil, after), '\n')) != nil || !s.out.end() {
		return
	}
	s.out = nil
	s.timer = time.AfterFunc(max(keepFor, 2*after), s.giveUp)
}

// attach continues the stream on another connection, behind the event that the
// client has seen last. It reports whether there is more to come; then c.gone
// tells when it has come.
func (s *stream) attach(c *conn, seen uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.leaveLocked()
	s.out = c
	for _, e := range s.events {
		if e.seq > seen && s.out != nil {
			_ = s.writeLocked(e.text)
		}
	}
	if s.over {
		s.lingerLocked()
	}
	return s.out != nil
}

// missed are the messages behind the event that the client has seen last.
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

// last is the number of the last event.
func (s *stream) last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// close ends the stream after its last event.
func (s *stream) close() {
	s.mu.Lock()
	s.over = true
	delivered := s.out != nil
	if delivered && s.id != "" && s.total.Load() < keepTotal/2 {
		s.growLocked(streamCost)
		s.lingerLocked()
	}
	keep := s.timer != nil // the client may come for the rest
	s.leaveLocked()
	s.mu.Unlock()
	if !keep {
		s.forget()
	}
}

// lingerLocked: all has been written, but a connection that breaks now takes with
// it what is on the way.
func (s *stream) lingerLocked() {
	s.leaveLocked()
	if s.timer == nil {
		s.timer = time.AfterFunc(lingerFor, s.giveUp)
	}
}

// parseEventID takes an event's id apart: which stream, which event of it.
func parseEventID(id string) (stream string, seq uint64, ok bool) {
	stream, number, ok := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 36, 64)
	return stream, seq, ok && err == nil
}
