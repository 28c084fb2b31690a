package console

import (
	"fmt"
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
func (c *Console) Live() *Live { return &Live{console: c, terminal: c.ErrIsTerminal()} }

// Terminal reports whether there is a terminal.
func (l *Live) Terminal() bool { return l.terminal }

// Width is how wide a line may be.
func (l *Live) Width() int { return max(20, l.console.errWidth()-1) }

// Set shows lines instead of the lines before.
func (l *Live) Set(lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = lines
	l.clear()
	l.draw()
}

// Infof writes a line above the block.
func (l *Live) Infof(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	l.console.Infof(format, args...)
	l.draw()
}

// Clear removes the block.
func (l *Live) Clear() { l.Set(nil) }

func (l *Live) clear() {
	if l.shown > 0 {
		fmt.Fprintf(l.console.stderr, "\x1b[%dA\r\x1b[J", l.shown)
		l.shown = 0
	}
}

func (l *Live) draw() {
	if !l.terminal {
		return
	}
	for _, line := range l.lines {
		fmt.Fprintln(l.console.Err, line)
	}
	l.shown = len(l.lines)
}
