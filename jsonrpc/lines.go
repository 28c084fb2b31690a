package jsonrpc

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	maxBuffered  = 64 << 10         // limit of buffered output; more is written at once
	maxUnsent    = 4 << 20          // limit of unwritten output; then Send blocks
	stallTimeout = 30 * time.Second // a write that takes longer fails with ErrStalled
	closeTimeout = 5 * time.Second  // how long Close waits for pending writes
)

// Lines returns a transport that reads and writes one packet per line, as on
// the standard streams of a process. A line over the size limit is reported as
// a *Malformed and skipped. Close closes r and w if they are io.Closers.
func Lines(r io.Reader, w io.Writer, limits Limits) Transport {
	return &lines{
		in:  lineReader{r: r, limits: limits.withDefaults(), buf: make([]byte, readSize)},
		out: newLineWriter(w),
	}
}

type lines struct {
	in   lineReader
	out  *lineWriter
	once sync.Once
}

var (
	_ Transport         = (*lines)(nil)
	_ bufferedTransport = (*lines)(nil)
)

// Send does not block on a slow reader for longer than ctx allows. If ctx can
// be cancelled, another goroutine does the writing.
func (l *lines) Send(ctx context.Context, p Packet) error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if err := l.out.addLocked(ctx, p); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return l.out.flushLocked()
	}
	l.out.scheduleLocked()
	return nil
}

func (l *lines) Receive(context.Context) (Packet, error) {
	line, err := l.in.next()
	if err != nil {
		return Packet{}, err
	}
	p, err := Decode(line, l.in.limits)
	if bad, ok := errors.AsType[*Malformed](err); ok && l.in.unterminated && bad.Err.Code == CodeParse {
		bad.Silent = true // the other end died in the middle of a line
	}
	return p, err
}

func (l *lines) flush() error { return l.out.flush() }
func (l *lines) ready() bool  { return l.in.ready() }

func (l *lines) hungUp() bool {
	w, ok := l.out.w.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := w.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = conn.Control(func(fd uintptr) { gone = hungUp(fd) })
	return err != nil || gone
}

func (l *lines) onError(f func(error)) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	l.out.onError = f
}

func (l *lines) buffer(p Packet) error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if err := l.out.addLocked(context.Background(), p); err != nil || len(l.out.unsent) < maxBuffered {
		return err
	}
	return l.out.flushLocked()
}

func (l *lines) Close() error {
	var err error
	l.once.Do(func() {
		l.out.close()
		err = errors.Join(closeIfCloser(l.in.r), closeIfCloser(l.out.w))
	})
	return err
}

// closeIfCloser closes v if it is an io.Closer. It ignores the error of a
// second Close, because the reader and the writer may be the same.
func closeIfCloser(v any) error {
	c, ok := v.(io.Closer)
	if !ok {
		return nil
	}
	if err := c.Close(); err != nil && !isClosed(err) {
		return err
	}
	return nil
}

// isClosed reports whether err means that one end of a stream was closed.
func isClosed(err error) bool {
	return errors.Is(err, fs.ErrClosed) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
