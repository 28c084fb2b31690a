package jsonrpc

import (
	"bytes"
	"errors"
	"io"
)

// Sizes in bytes.
const (
	readSize = 64 << 10 // initial size of the read buffer
	maxKept  = 1 << 20  // a read buffer that has grown beyond it is not kept
	maxTail  = 512      // how much of the end of an oversized line is kept
	maxDrain = 64 << 20 // how much of an oversized line is skipped, then ErrTooLong
)

// A lineReader splits a stream into lines.
type lineReader struct {
	r            io.Reader
	limits       Limits
	buf          []byte
	start, end   int   // buf[start:end] was read but not returned yet
	scanned      int   // how many bytes of it contain no newline
	draining     bool  // skipping the rest of an oversized line
	err          error // the final error of r
	unterminated bool  // the last line had no newline

	oversized *Malformed // an oversized message whose id may come at its end
	tail      []byte     // the end of what was read of it
}

// ready reports whether the buffer contains a complete line. It skips blank
// lines, which must not delay buffered responses.
func (l *lineReader) ready() bool {
	for !l.draining {
		rest := l.buf[l.start:l.end]
		i := bytes.IndexByte(rest[l.scanned:], '\n')
		if i < 0 {
			l.scanned = len(rest)
			return false
		}
		if len(bytes.Trim(rest[:l.scanned+i], " \t\r")) > 0 {
			return true
		}
		l.start += l.scanned + i + 1
		l.scanned = 0
	}
	return false
}

// tooLong reports whether a line, or the part read so far, exceeds the limit. A
// carriage return before the newline does not count.
func (l *lineReader) tooLong(line []byte) bool {
	return len(bytes.TrimSuffix(line, []byte("\r"))) > l.limits.Bytes
}

// next returns the next line that is not blank. The line is a copy, because
// handlers may keep parts of it.
func (l *lineReader) next() ([]byte, error) {
	drained := 0
	for {
		rest := l.buf[l.start:l.end]
		if i := bytes.IndexByte(rest[l.scanned:], '\n'); i >= 0 {
			whole := rest[:l.scanned+i]
			line := bytes.Trim(whole, " \t\r")
			skipped := l.draining
			l.start += l.scanned + i + 1
			l.scanned, l.draining = 0, false
			switch {
			case skipped:
				if bad := l.oversized; bad != nil {
					l.oversized = nil
					bad.ID = idAtEnd(append(l.tail, whole...))
					return nil, bad
				}
			case l.tooLong(whole):
				return nil, l.oversizedLine(whole, true)
			case len(line) > 0:
				return l.take(line), nil
			}
			continue
		}
		l.scanned = len(rest)
		if l.draining {
			if drained += len(rest); drained > maxDrain {
				return nil, ErrTooLong
			}
			if l.oversized != nil {
				l.tail = append(l.tail, rest[max(0, len(rest)-maxTail):]...)
				l.tail = append(l.tail[:0], l.tail[max(0, len(l.tail)-maxTail):]...)
			}
			l.start, l.end, l.scanned = 0, 0, 0
		} else if l.tooLong(rest) {
			l.draining = true
			if bad := l.oversizedLine(rest, false); bad != nil {
				return nil, bad
			}
			continue
		}
		if l.err != nil {
			line := bytes.Trim(l.buf[l.start:l.end], " \t\r")
			l.start, l.end, l.scanned = 0, 0, 0
			if bad := l.oversized; bad != nil {
				l.oversized = nil
				bad.ID = idAtEnd(l.tail)
				return nil, bad
			}
			if len(line) == 0 || l.draining {
				return nil, l.err
			}
			l.unterminated = true
			return bytes.Clone(line), nil // the last line may have no newline
		}
		l.fill()
	}
}

// oversizedLine returns the error for a line that is too long, with the id of
// the message, so that its sender or its caller learns what failed. It returns
// nil if the id may still come at the end of the line; next then returns the
// error.
func (l *lineReader) oversizedLine(line []byte, whole bool) *Malformed {
	bad := peekOversized(line, l.limits.Bytes)
	if !bad.ID.IsZero() || !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")) {
		return bad
	}
	if whole {
		bad.ID = idAtEnd(line)
		return bad
	}
	l.oversized, l.tail = bad, l.tail[:0]
	return nil
}

// take returns a copy of a line, or the line itself if it is large and alone in
// the buffer, which is then replaced by a small one.
func (l *lineReader) take(line []byte) []byte {
	if len(l.buf) <= maxKept || l.start < l.end {
		return bytes.Clone(line)
	}
	l.buf, l.start, l.end = make([]byte, readSize), 0, 0
	return line
}

// fill reads more input, after making room in the buffer.
func (l *lineReader) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		// Room for one byte over the limit and the line ending is enough.
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
