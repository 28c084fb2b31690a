package check

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
)

// maxTail is how much of a check's output is kept.
const maxTail = 16 << 10

// A tail keeps the last bytes written to it.
type tail struct {
	limit int

	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > t.limit { // seldom, so that it costs little
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// shown replaces characters that act instead of being shown: a NUL, an escape, what
// changes the reading direction. Carriage returns end lines that programs overwrite.
func shown(r rune) rune {
	switch {
	case r == '\r':
		return '\n'
	case r == '\n' || r == '\t':
		return r
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
		return '\uFFFD'
	}
	return r
}

// String is the end of the output, in whole lines where possible.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, cut := t.buf, t.cut
	if over := len(b) - t.limit; over > 0 {
		b, cut = b[over:], true
	}
	if cut {
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	return strings.Map(shown, strings.ToValidUTF8(string(b), "\uFFFD"))
}
