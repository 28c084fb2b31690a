package console

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
)

// A Live is a block of lines at the end of a terminal, on standard error, that is rewritten in
// place. Elsewhere it shows nothing. It may be used by several goroutines.
type Live struct {
	console  *Console
	terminal bool

	mu    sync.Mutex
	lines []string
	shown int // how many are on the terminal
}

// Live returns a new Live, which shows nothing yet.
func (c *Console) Live() *Live {
	return &Live{console: c, terminal: c.ErrIsTerminal() && c.Getenv("TERM") != "dumb"}
}

// Terminal reports whether there is a terminal.
func (l *Live) Terminal() bool { return l.terminal }

// Width is how wide a line may be.
func (l *Live) Width() int { return max(20, l.console.errWidth()-1) }

// Set shows lines instead of the lines before.
func (l *Live) Set(lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = lines
	l.draw("")
}

// Infof writes a line above the block.
func (l *Live) Infof(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.terminal {
		l.console.Infof(format, args...)
		return
	}
	l.draw(fmt.Sprintf(format+"\n", indented(args)...))
}

// Clear removes the block.
func (l *Live) Clear() { l.Set(nil) }

// draw draws the block again, with lines above it. All is one write: a terminal that showed what is
// between clearing and drawing would flicker.
func (l *Live) draw(above string) {
	if !l.terminal {
		return
	}
	var b bytes.Buffer
	if l.shown > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", l.shown)
	}
	text := newEscaper(&b)
	fmt.Fprint(text, above)
	_, height := terminalSize(l.console.stderr)
	lines := fitRows(l.lines, height)
	for _, line := range lines {
		fmt.Fprintln(text, line)
	}
	l.shown = len(lines)
	_, _ = l.console.stderr.Write(b.Bytes())
}

// fitRows cuts a block that is too high for a terminal, of which some rows are for what is above: what is beyond its first row cannot be
// rewritten. A height of 0 is not known.
func fitRows(lines []string, height int) []string {
	rows := max(4, height-4)
	if height == 0 || len(lines) <= rows {
		return lines
	}
	return append(slices.Clone(lines[:rows-1]), fmt.Sprintf("and %d more", len(lines)-rows+1))
}
