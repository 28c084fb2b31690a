package console

import (
	"bytes"
	"crypto/rand"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/internal/visible"
)

// An escaper is what everything that a command prints goes through. It spells out characters
// that would act on the terminal, and puts in the escape sequences of styles. Those are marked
// with a random key, which no text of others can contain.
type escaper struct {
	to  io.Writer
	key []byte

	mu   sync.Mutex
	rest []byte // the beginning of a character or of a mark, from the last Write
}

// styleKey is what the marks of styles begin with.
var styleKey = "\x1b" + rand.Text() + "["

// newEscaper returns an escaper that writes to w.
func newEscaper(w io.Writer) *escaper { return &escaper{to: w, key: []byte(styleKey)} }

// Write writes p. What may be the beginning of a mark is kept for the next call.
func (e *escaper) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := append(e.rest, p...)
	var out []byte
	for {
		before, after, found := bytes.Cut(text, e.key)
		style, more, whole := bytes.Cut(after, []byte("m"))
		if !found || !whole {
			break
		}
		out = append(out, visible.Text(string(before))...)
		if slices.Contains(styles, Style(style)) {
			out = append(append(append(out, "\x1b["...), style...), 'm')
		}
		text = more
	}
	keep := len(text) - e.unfinished(text)
	out = append(out, visible.Text(string(text[:keep]))...)
	e.rest = bytes.Clone(text[keep:])
	if _, err := e.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished returns how many bytes at the end of text may belong to what follows.
func (e *escaper) unfinished(text []byte) int {
	if i := bytes.LastIndexByte(text, e.key[0]); i >= 0 {
		if tail := text[i:]; bytes.HasPrefix(e.key, tail) || bytes.HasPrefix(tail, e.key) && len(tail) < len(e.key)+3 {
			return len(tail)
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			break
		}
	}
	return 0
}

// WriteData writes what a server sent: to a pipe or a file as it is, to a terminal like
// everything else.
func (c *Console) WriteData(text string) error {
	if c.OutIsTerminal() {
		_, err := c.Out.WriteString(strings.ReplaceAll(text, "\r\n", "\n"))
		return err
	}
	if err := c.Out.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(c.stdout, text)
	return err
}

// Quote returns a text of others behind a margin, each line short enough for standard error
// not to break it: so no line of it looks like a prompt or a message of ours.
func (c *Console) Quote(text string) string {
	width := c.errWidth()
	if width == 0 {
		width = 100
	}
	return strings.TrimRight(quoted("  ", text, max(width, 30)), "\n")
}

// indented returns args in which the lines of a text after the first stand behind a margin, so
// that none of them looks like a line of ours.
func indented(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		text := ""
		switch v := arg.(type) {
		case string:
			text = v
		case error:
			text = v.Error()
		case interface{ String() string }:
			text = v.String()
		}
		if strings.Contains(text, "\n") {
			args[i] = strings.ReplaceAll(text, "\n", "\n"+furtherLine)
		}
	}
	return args
}
