package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	readSize   = 64 << 10         // the reading buffer, to begin with
	maxTail    = 512              // how much of an over-long line's end is looked at
	maxDrain   = 64 << 20         // how much of an over-long line is read away
	maxHeld    = 64 << 10         // what is held back before it goes out after all
	maxUnsent  = 4 << 20          // what may wait for a slow reader before Send waits too
	stallAfter = 30 * time.Second // how long one write may take, at least
	lastWords  = 5 * time.Second  // how long Close waits for what has been sent
)

// Lines carries one packet a line over a reader and a writer, as over the
// standard streams of a process. A line that is too long is reported and read
// away, and the next one is served. Close closes r and w where they can be.
func Lines(r io.Reader, w io.Writer, limits Limits) Transport {
	return &lines{
		in:  lineReader{r: r, limits: limits.filled(), buf: make([]byte, readSize)},
		out: newLineWriter(w),
	}
}

type lines struct {
	in   lineReader
	out  *lineWriter
	once sync.Once
}

var (
	_ Transport = (*lines)(nil)
	_ holder    = (*lines)(nil)
)

// Send does not wait for a slow reader longer than ctx allows: with a context
// that can end, another goroutine writes.
func (l *lines) Send(ctx context.Context, p Packet) error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if err := l.out.addLocked(ctx, p); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return l.out.flushLocked()
	}
	l.out.startLocked()
	return nil
}

func (l *lines) Receive(context.Context) (Packet, error) {
	line, err := l.in.next()
	if err != nil {
		return Packet{}, err
	}
	p, err := Decode(line, l.in.limits)
	if bad, ok := errors.AsType[*Malformed](err); ok && l.in.torn && bad.Err.Code == CodeParse {
		bad.Silent = true // the other side went away in the middle of a line
	}
	return p, err
}

func (l *lines) flush() error { return l.out.flush() }
func (l *lines) ready() bool  { return l.in.ready() }

func (l *lines) failing(tell func(error)) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	l.out.tell = tell
}

func (l *lines) hold(p Packet) error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if err := l.out.addLocked(context.Background(), p); err != nil || len(l.out.unsent) < maxHeld {
		return err
	}
	return l.out.flushLocked()
}

func (l *lines) Close() error {
	var err error
	l.once.Do(func() {
		l.out.close()
		err = errors.Join(closeOnce(l.in.r), closeOnce(l.out.w))
	})
	return err
}

// closeOnce closes what can be closed. That it is closed already is no error:
// reader and writer may be one.
func closeOnce(v any) error {
	c, ok := v.(io.Closer)
	if !ok {
		return nil
	}
	if err := c.Close(); err != nil && !isClosed(err) {
		return err
	}
	return nil
}

// A lineReader cuts a stream into lines.
type lineReader struct {
	r          io.Reader
	limits     Limits
	buf        []byte
	start, end int // what has been read and not yet given out
	seen       int // how much of it holds no line end
	draining   bool
	err        error // the stream's end
	torn       bool  // the line given out last had no end

	late *Malformed // an answer that is too long: told when its id is known
	tail []byte     // the end of what has been read of it
}

// ready reports whether a whole line is at hand. Blank ones are passed over:
// they are no reason to keep an answer back.
func (l *lineReader) ready() bool {
	for !l.draining {
		rest := l.buf[l.start:l.end]
		i := bytes.IndexByte(rest[l.seen:], '\n')
		if i < 0 {
			l.seen = len(rest)
			return false
		}
		if len(bytes.Trim(rest[:l.seen+i], " \t\r")) > 0 {
			return true
		}
		l.start += l.seen + i + 1
		l.seen = 0
	}
	return false
}

// long reports whether a line, or the part of it that has been read, is more
// than the limit allows. A carriage return before the line end is not counted.
func (l *lineReader) long(line []byte) bool {
	return len(bytes.TrimSuffix(line, []byte("\r"))) > l.limits.Bytes
}

// next returns the next line that is not blank, in memory of its own: a handler
// may keep what it is given.
func (l *lineReader) next() ([]byte, error) {
	drained := 0
	for {
		rest := l.buf[l.start:l.end]
		if i := bytes.IndexByte(rest[l.seen:], '\n'); i >= 0 {
			whole := rest[:l.seen+i]
			line := bytes.Trim(whole, " \t\r")
			told := l.draining
			l.start += l.seen + i + 1
			l.seen, l.draining = 0, false
			switch {
			case told:
				if bad := l.late; bad != nil {
					l.late = nil
					bad.ID = tailID(append(l.tail, whole...))
					return nil, bad
				}
			case l.long(whole):
				return nil, l.overlong(whole, true)
			case len(line) > 0:
				return bytes.Clone(line), nil
			}
			continue
		}
		l.seen = len(rest)
		if l.draining {
			if drained += len(rest); drained > maxDrain {
				return nil, ErrTooLong
			}
			if l.late != nil {
				l.tail = append(l.tail, rest[max(0, len(rest)-maxTail):]...)
				l.tail = append(l.tail[:0], l.tail[max(0, len(l.tail)-maxTail):]...)
			}
			l.start, l.end, l.seen = 0, 0, 0
		} else if l.long(rest) {
			l.draining = true
			if bad := l.overlong(rest, false); bad != nil {
				return nil, bad
			}
			continue
		}
		if l.err != nil {
			line := bytes.Trim(l.buf[l.start:l.end], " \t\r")
			l.start, l.end, l.seen = 0, 0, 0
			if len(line) == 0 || l.draining {
				return nil, l.err
			}
			l.torn = true
			return bytes.Clone(line), nil // a last line without an end
		}
		l.fill()
	}
}

// overlong tells of a line that is too long. Whoever waits for an answer is to
// know that it has come: so its id is looked for, and if only the line's end may
// have it, the fault is told there; nil means that.
func (l *lineReader) overlong(line []byte, whole bool) *Malformed {
	bad := &Malformed{Err: tooLarge(l.limits.Bytes)}
	e := glance(line)
	if e.method != nil || e.result == nil && e.err == nil {
		return bad
	}
	bad.Silent = true
	switch {
	case e.ids == 1 && e.id != nil:
		bad.ID, _ = ParseID(e.id)
	case whole:
		bad.ID = tailID(line)
	default:
		l.late, l.tail = bad, l.tail[:0]
		return nil
	}
	return bad
}

// tailID finds the id that stands behind a result, as some write it. The text
// before it has not been checked: a wrong id harms only who wrote it.
func tailID(line []byte) ID {
	rest := bytes.TrimRight(line, " \t\r}")
	rest = bytes.TrimSuffix(rest, []byte(`,"jsonrpc":"2.0"`))
	i := bytes.LastIndex(rest, []byte(`,"id":`))
	if i < 0 {
		return ID{}
	}
	id, _ := ParseID(bytes.TrimSpace(rest[i+len(`,"id":`):]))
	return id
}

// fill reads more, after making room.
func (l *lineReader) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		// One byte more than a line may have, and its end, is enough.
		size := max(min(4*len(l.buf), l.limits.Bytes+3), len(l.buf)+1)
		l.buf = append(make([]byte, 0, size), l.buf...)[:size]
	}
	n, err := 0, error(nil)
	for range 100 {
		if n, err = l.r.Read(l.buf[l.end:]); n > 0 || err != nil {
			break
		}
	}
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	l.end += n
	l.err = err
	if err != nil && !errors.Is(err, io.EOF) && isClosed(err) {
		l.err = io.EOF
	}
}

// A lineWriter gathers lines and writes them in as few pieces as it can: one
// goroutine writes at a time, with what the others add meanwhile.
type lineWriter struct {
	w io.Writer

	mu       sync.Mutex
	drained  sync.Cond // signalled when unsent has gone out
	unsent   []byte
	spare    []byte // the buffer written last, to be used again
	writing  bool
	starting bool // a goroutine is on its way to write
	closing  bool
	err      error
	tell     func(error) // is told of an error that no Send returns
	dog      *watchdog   // notices a write that does not end
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w}
	l.drained.L = &l.mu
	l.dog = newWatchdog(stallAfter, l.stalled)
	return l
}

// addLocked takes a packet to be written, when there is room for it.
func (l *lineWriter) addLocked(ctx context.Context, p Packet) error {
	if l.err == nil && l.writing && len(l.unsent) > maxUnsent {
		defer context.AfterFunc(ctx, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.drained.Broadcast()
		})()
	}
	for l.err == nil && l.writing && len(l.unsent) > maxUnsent {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.drained.Wait()
	}
	switch {
	case l.err != nil:
		return l.err
	case l.closing:
		return ErrClosed
	}
	l.unsent = append(p.Append(l.unsent), '\n')
	return nil
}

// startLocked lets another goroutine write what has been added, unless one is at
// it already. close waits for it.
func (l *lineWriter) startLocked() {
	if l.writing || l.starting {
		return
	}
	l.starting = true
	go func() {
		l.mu.Lock()
		l.starting = false
		err, tell := l.flushLocked(), l.tell
		l.mu.Unlock()
		if err != nil && tell != nil {
			tell(err)
		}
	}()
}

func (l *lineWriter) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushLocked()
}

// flushLocked writes what has been added, unless somebody is at it already. It
// lets go of the lock while it writes.
func (l *lineWriter) flushLocked() error {
	if l.writing {
		return l.err
	}
	l.writing = true
	for l.err == nil && len(l.unsent) > 0 {
		b := l.unsent
		l.unsent, l.spare = l.spare[:0], nil
		l.dog.beginLocked()
		l.mu.Unlock()
		_, err := l.w.Write(b)
		l.mu.Lock()
		l.dog.endLocked()
		if cap(b) <= maxUnsent {
			l.spare = b[:0]
		}
		if err != nil && l.err == nil {
			if isClosed(err) {
				err = fmt.Errorf("%w: %w", ErrClosed, err)
			}
			l.err = err
		}
		l.drained.Broadcast()
	}
	l.writing = false
	l.drained.Broadcast()
	return l.err
}

// stalled gives up on a reader that has not taken anything for too long. The
// goroutine in Write is free again when the writer is closed, if that can wake
// it.
func (l *lineWriter) stalled() {
	l.mu.Lock()
	late := l.dog.lateLocked()
	l.mu.Unlock()
	if late {
		l.fail(ErrStalled)
	}
}

func (l *lineWriter) fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	l.drained.Broadcast()
	l.mu.Unlock()
	if c, ok := l.w.(io.Closer); ok && err == ErrStalled {
		_ = c.Close()
	}
}

// close takes nothing more, and waits for what has been taken to go out, as long
// as there is hope.
func (l *lineWriter) close() {
	l.mu.Lock()
	l.closing = true
	if l.busyLocked() {
		hope := time.AfterFunc(lastWords, func() { l.fail(ErrStalled) })
		go func() { _ = l.flush() }()
		for l.busyLocked() {
			l.drained.Wait()
		}
		hope.Stop()
	}
	l.mu.Unlock()
	l.dog.stop()
	l.fail(ErrClosed)
}

// busyLocked reports whether something is still to go out. One who is on the way to
// write counts, though another may have done it: they would take the end for a failure.
func (l *lineWriter) busyLocked() bool {
	return l.err == nil && (l.writing || l.starting || len(l.unsent) > 0)
}

// isClosed reports whether err means that one end of a stream has been closed.
func isClosed(err error) bool {
	return errors.Is(err, fs.ErrClosed) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
