package jsonrpc

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// A lineWriter writes lines in as few Writes as it can. One goroutine writes at
// a time, and includes what others added meanwhile.
type lineWriter struct {
	w io.Writer

	mu        sync.Mutex
	drained   sync.Cond // signalled when unsent was written
	unsent    []byte
	spare     []byte // the buffer of the last Write, for reuse
	writing   bool
	scheduled bool // a goroutine was started to write
	closing   bool
	err       error
	onError   func(error) // called with a write error that no Send returned
	watchdog  *watchdog   // detects a Write that blocks
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w}
	l.drained.L = &l.mu
	l.watchdog = newWatchdog(stallTimeout, l.stalled)
	return l
}

// addLocked appends a packet to the unsent output. It blocks while there is too
// much.
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

// scheduleLocked starts a goroutine that writes, unless one is running. close
// waits for it.
func (l *lineWriter) scheduleLocked() {
	if l.writing || l.scheduled {
		return
	}
	l.scheduled = true
	go func() {
		l.mu.Lock()
		l.scheduled = false
		err, onError := l.flushLocked(), l.onError
		l.mu.Unlock()
		if err != nil && onError != nil {
			onError(err)
		}
	}()
}

func (l *lineWriter) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushLocked()
}

// flushLocked writes the unsent output, unless another goroutine is doing so.
// It releases the lock while it writes.
func (l *lineWriter) flushLocked() error {
	if l.writing {
		return l.err
	}
	l.writing = true
	for l.err == nil && len(l.unsent) > 0 {
		b := l.unsent
		l.unsent, l.spare = l.spare[:0], nil
		l.watchdog.beginLocked()
		l.mu.Unlock()
		_, err := l.w.Write(b)
		l.mu.Lock()
		l.watchdog.endLocked()
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

// stalled is the watchdog's tick. It gives up if the other end has not read
// anything for too long. A blocked Write returns when the writer is closed, if
// closing can unblock it.
func (l *lineWriter) stalled() {
	l.mu.Lock()
	late := l.watchdog.lateLocked()
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

// close refuses further output and waits, up to closeTimeout, until everything
// is written.
func (l *lineWriter) close() {
	l.mu.Lock()
	l.closing = true
	if l.busyLocked() {
		timeout := time.AfterFunc(closeTimeout, func() { l.fail(ErrStalled) })
		go func() { _ = l.flush() }()
		for l.busyLocked() {
			l.drained.Wait()
		}
		timeout.Stop()
	}
	l.mu.Unlock()
	l.watchdog.stop()
	l.fail(ErrClosed)
}

// busyLocked reports whether output is still unwritten. A scheduled goroutine
// counts even if another one has written everything, because it would report
// the close as an error.
func (l *lineWriter) busyLocked() bool {
	return l.err == nil && (l.writing || l.scheduled || len(l.unsent) > 0)
}
