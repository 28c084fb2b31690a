package streamable

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// An sseEvent is an event of an event stream.
type sseEvent struct {
	name string
	data []byte // a copy
}

var (
	errEventTooLarge = errors.New("streamable: an event is too large")
	errStreamSilent  = errors.New("streamable: the stream has fallen silent")
)

// A server may send comments on an idle stream to keep it open. If they stop
// for this long and for three times the usual interval, the stream is treated
// as dead, whatever the network says.
const (
	silenceTimeout = time.Minute
	silenceFactor  = 3
)

// An eventReader reads an event stream as browsers do. It keeps the last id and
// the reconnection time across streams.
type eventReader struct {
	r     io.Reader
	limit int // of one event

	id    string
	retry time.Duration

	buf        []byte
	start, end int
	skipLF     bool // a line ended with a carriage return: a line feed belongs to it
	started    bool

	commentGap  time.Duration // longest time between two comments; zero if there were none
	lastComment time.Time     // when the last one arrived
	timedOut    atomic.Bool   // the stream was closed because of silence
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{r: r, limit: limit, retry: defaultRetry}
}

// reset continues with another stream. An incomplete event is lost.
func (e *eventReader) reset(r io.Reader) {
	e.r, e.start, e.end, e.skipLF, e.started = r, 0, 0, false, false
	e.lastComment = time.Time{}
	e.timedOut.Store(false)
}

// next returns the next event. One without data only has an id.
func (e *eventReader) next() (sseEvent, error) {
	var ev sseEvent
	id, hasID, hasData := "", false, false
	for {
		line, err := e.line()
		if err != nil {
			return sseEvent{}, err
		}
		if len(line) == 0 {
			if hasID {
				e.id = id
			}
			if hasData || hasID {
				return ev, nil
			}
			ev = sseEvent{}
			continue
		}
		if line[0] == ':' {
			e.comment()
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			ev.name = string(value)
		case "data":
			if len(ev.data)+len(value) > e.limit {
				return sseEvent{}, errEventTooLarge
			}
			if hasData {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
			hasData = true
		case "id":
			if bytes.IndexByte(value, 0) < 0 && len(value) <= 4096 {
				id, hasID = string(value), true
			}
		case "retry":
			e.setRetry(value)
		}
	}
}

// comment records the interval between comments.
func (e *eventReader) comment() {
	now := time.Now()
	if !e.lastComment.IsZero() {
		e.commentGap = max(e.commentGap, now.Sub(e.lastComment))
	}
	e.lastComment = now
}

// read reads from the stream, and closes it if it appears to be dead.
func (e *eventReader) read(p []byte) (int, error) {
	body, ok := e.r.(io.Closer)
	if !ok || e.commentGap == 0 {
		return e.r.Read(p)
	}
	timer := time.AfterFunc(max(silenceTimeout, silenceFactor*e.commentGap), func() {
		e.timedOut.Store(true)
		_ = body.Close()
	})
	defer timer.Stop()
	n, err := e.r.Read(p)
	if err != nil && e.timedOut.Load() {
		err = errStreamSilent
	}
	return n, err
}

// setRetry sets the reconnection time, within limits.
func (e *eventReader) setRetry(value []byte) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return
		}
	}
	ms, err := strconv.ParseUint(string(value), 10, 64)
	if len(value) == 0 {
		return
	}
	if limit := uint64(maxRetry.Milliseconds()); err != nil || ms > limit {
		ms = limit
	}
	e.retry = max(time.Duration(ms)*time.Millisecond, minRetry)
}

// line returns the next line, which may end with a line feed, a carriage return
// or both. It is valid until the next call.
func (e *eventReader) line() ([]byte, error) {
	seen := 0
	for {
		if e.skipLF && e.start < e.end {
			e.skipLF = false
			if e.buf[e.start] == '\n' {
				e.start++
			}
		}
		rest := e.buf[e.start:e.end]
		if i := bytes.IndexAny(rest[seen:], "\r\n"); i >= 0 {
			line := rest[:seen+i]
			e.skipLF = rest[seen+i] == '\r'
			e.start += seen + i + 1
			if !e.started {
				e.started = true
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			return line, nil
		}
		seen = len(rest)
		if seen > e.limit+16 {
			return nil, errEventTooLarge
		}
		if err := e.fill(); err != nil {
			return nil, err
		}
	}
}

func (e *eventReader) fill() error {
	if e.start > 0 {
		e.end = copy(e.buf, e.buf[e.start:e.end])
		e.start = 0
	}
	if e.end == len(e.buf) {
		e.buf = append(e.buf, make([]byte, max(4<<10, len(e.buf)))...)
	}
	for range 100 {
		n, err := e.read(e.buf[e.end:])
		e.end += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
