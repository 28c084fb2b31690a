package streamable

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// A heard event is one of an event stream.
type heard struct {
	name string
	data []byte // in memory of its own
}

var (
	errEventTooLarge = errors.New("streamable: an event is too large")
	errSilent        = errors.New("streamable: the stream has fallen silent")
)

// A server that sends comments on a quiet stream, to keep it open, shows that way
// that it is there. A stream on which they came, and then nothing for this long and
// three times as long as between two of them, is dead, whatever the network says.
const (
	silentFor   = time.Minute
	silentBeats = 3
)

// An eventReader reads an event stream as browsers do. It remembers the last id
// and what the server said about coming back, from one stream to the next.
type eventReader struct {
	r     io.Reader
	limit int // of one event

	id    string
	retry time.Duration

	buf        []byte
	start, end int
	skipLF     bool // a line end was a carriage return: a line feed belongs to it
	begun      bool

	beat   time.Duration // the longest time between two comments; zero: there were none
	beaten time.Time     // when the last one came
	silent atomic.Bool   // the stream was closed because nothing came
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{r: r, limit: limit, retry: usualRetry}
}

// reset goes on with another stream. An event that was not whole is lost.
func (e *eventReader) reset(r io.Reader) {
	e.r, e.start, e.end, e.skipLF, e.begun = r, 0, 0, false, false
	e.beaten = time.Time{}
	e.silent.Store(false)
}

// next waits for the next event. One without data tells only its id.
func (e *eventReader) next() (heard, error) {
	var ev heard
	id, hasID, hasData := "", false, false
	for {
		line, err := e.line()
		if err != nil {
			return heard{}, err
		}
		if len(line) == 0 {
			if hasID {
				e.id = id
			}
			if hasData || hasID {
				return ev, nil
			}
			ev = heard{}
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
				return heard{}, errEventTooLarge
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
			e.wait(value)
		}
	}
}

// comment notes how far apart the server's signs of life are.
func (e *eventReader) comment() {
	now := time.Now()
	if !e.beaten.IsZero() {
		e.beat = max(e.beat, now.Sub(e.beaten))
	}
	e.beaten = now
}

// read reads from the stream, and closes it if it seems to be dead.
func (e *eventReader) read(p []byte) (int, error) {
	body, ok := e.r.(io.Closer)
	if !ok || e.beat == 0 {
		return e.r.Read(p)
	}
	late := time.AfterFunc(max(silentFor, silentBeats*e.beat), func() {
		e.silent.Store(true)
		_ = body.Close()
	})
	defer late.Stop()
	n, err := e.r.Read(p)
	if err != nil && e.silent.Load() {
		err = errSilent
	}
	return n, err
}

// wait heeds how long to wait before coming back, within reason.
func (e *eventReader) wait(value []byte) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return
		}
	}
	ms, err := strconv.ParseUint(string(value), 10, 64)
	if len(value) == 0 {
		return
	}
	if limit := uint64(slowestWait.Milliseconds()); err != nil || ms > limit {
		ms = limit
	}
	e.retry = max(time.Duration(ms)*time.Millisecond, soonestWait)
}

// line is the next line, which may end with a line feed, a carriage return or
// both. It is valid until the next call.
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
			if !e.begun {
				e.begun = true
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
