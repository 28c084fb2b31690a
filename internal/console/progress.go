package console

import (
	"fmt"
	"sync"
)

// A Progress is a line on standard error about how far a command is. On a terminal it is
// rewritten in place, elsewhere each text is a line of its own. It may be used by several
// goroutines.
type Progress struct {
	console  *Console
	terminal bool

	mu    sync.Mutex
	shown bool   // the line is on the terminal
	last  string // the last text that was written
}

// Progress returns a new Progress, which shows nothing yet.
func (c *Console) Progress() *Progress { return &Progress{console: c, terminal: c.ErrIsTerminal()} }

// Terminal reports whether the line is rewritten in place.
func (p *Progress) Terminal() bool { return p.terminal }

// Set shows text instead of the text before.
func (p *Progress) Set(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text = OneLine(text)
	if text == p.last {
		return
	}
	p.last = text
	if !p.terminal {
		fmt.Fprintln(p.console.Err, text)
		return
	}
	p.console.clearLine()
	fmt.Fprint(p.console.Err, Truncate(text, max(20, p.console.errWidth()-1)))
	p.shown = true
}

// Infof writes a line above the progress.
func (p *Progress) Infof(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	p.console.Infof(format, args...)
}

// Quote writes a line of ours, unless it is empty, and below it a text of others.
func (p *Progress) Quote(line, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	if line != "" {
		fmt.Fprintln(p.console.Err, OneLine(line))
	}
	fmt.Fprintln(p.console.Err, p.console.Quote(text))
}

// Clear removes the line from a terminal.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

func (p *Progress) clearLocked() {
	if p.shown {
		p.console.clearLine()
		p.shown = false
	}
}

// clearLine removes the line of the cursor from the terminal.
func (c *Console) clearLine() { fmt.Fprint(c.stderr, "\r\x1b[K") }
