package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/go-json-experiment/json"
)

// keptWords is how many lines of a program's standard error are kept, to be shown
// if it fails.
const keptWords = 10

// A console writes to standard error what is not the answer: progress, messages of
// the server, and of its program. All of it is safe for a terminal.
type console struct {
	app *app
	tty bool

	mu    sync.Mutex
	open  bool   // a line of progress stands there
	last  string // the last progress that was written
	words []string
}

func newConsole(a *app) *console {
	return &console{app: a, tty: isTerminal(a.stderr)}
}

// line writes a line, above the progress if there is some.
func (c *console) line(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clearLocked()
	fmt.Fprintln(c.app.stderr, plain(fmt.Sprintf(format, args...)))
}

// progress shows how far it has come: in one line that is written again and again on
// a terminal, else in lines.
func (c *console) progress(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text = line(text)
	if text == c.last {
		return
	}
	c.last = text
	if !c.tty {
		fmt.Fprintln(c.app.stderr, text)
		return
	}
	width := newPaint(c.app.stderr, c.app.getenv).width
	fmt.Fprintf(c.app.stderr, "\r\x1b[K%s", cut(text, max(20, width-1)))
	c.open = true
}

// end takes the progress away: what follows is the answer.
func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clearLocked()
}

func (c *console) clearLocked() {
	if c.open {
		fmt.Fprint(c.app.stderr, "\r\x1b[K")
		c.open = false
	}
}

// lastWords shows what the program has said, once.
func (c *console) lastWords() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clearLocked()
	// A program that is tried a second time says the same again.
	if half := len(c.words) / 2; slices.Equal(c.words[:half], c.words[half:]) {
		c.words = c.words[half:]
	}
	for _, w := range c.words {
		fmt.Fprintln(c.app.stderr, "  | "+plain(w))
	}
	c.words = nil
}

// handler takes what the library logs, most of it the program's standard error.
func (c *console) handler(verbose bool) slog.Handler {
	return &consoleHandler{console: c, verbose: verbose}
}

type consoleHandler struct {
	console *console
	verbose bool
}

func (h *consoleHandler) Enabled(_ context.Context, l slog.Level) bool {
	return h.verbose || l >= slog.LevelInfo
}

func (h *consoleHandler) Handle(_ context.Context, r slog.Record) error {
	text, child := r.Message, false
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stderr" {
			text, child = a.Value.String(), true
			return false
		}
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	text = line(text)
	switch {
	case h.verbose:
		h.console.line("  | %s", text)
	case child:
		h.console.mu.Lock()
		defer h.console.mu.Unlock()
		h.console.words = append(h.console.words, text)
		h.console.words = h.console.words[max(0, len(h.console.words)-keptWords):]
	}
	return nil
}

func (h *consoleHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *consoleHandler) WithGroup(string) slog.Handler      { return h }

// hear shows the messages that the server logs.
func (s *session) hear(_ context.Context, n mcp.Notification) {
	if n.Method != "notifications/message" {
		return
	}
	var m struct {
		Level  string `json:"level"`
		Logger string `json:"logger"`
		Data   any    `json:"data"`
	}
	if json.Unmarshal(n.Params, &m) != nil {
		return
	}
	text, ok := m.Data.(string)
	if !ok {
		raw, err := json.Marshal(m.Data, json.Deterministic(true))
		if err != nil {
			return
		}
		text = string(raw)
	}
	if m.Logger != "" {
		text = m.Logger + ": " + text
	}
	s.console.line("[%s] %s", line(m.Level), under(text))
}

// progressText is a line about how far a call has come.
func progressText(p mcp.ProgressParams) string {
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		text = fmt.Sprintf("%3.0f %%  %g of %g", min(100, 100*p.Progress/p.Total), p.Progress, p.Total)
	}
	if p.Message != "" {
		text += "  " + p.Message
	}
	return text
}
