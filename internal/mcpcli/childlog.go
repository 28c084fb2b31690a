package mcpcli

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/go-json-experiment/json"
)

// maxChildLines is how many lines of a program's standard error are kept, to be shown
// if it fails.
const maxChildLines = 10

// A childLog takes what the protocol's client logs, most of it the standard error of the
// server's program. With verbose it shows all of it at once; else it keeps the program's
// last lines.
type childLog struct {
	progress *console.Progress
	verbose  bool

	mu    sync.Mutex
	lines []string
}

var _ slog.Handler = (*childLog)(nil)

// show prints the kept lines, once.
func (l *childLog) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A program that was started a second time says the same again.
	if half := len(l.lines) / 2; slices.Equal(l.lines[:half], l.lines[half:]) {
		l.lines = l.lines[half:]
	}
	for _, line := range l.lines {
		l.progress.Infof("  | %s", line)
	}
	l.lines = nil
}

func (l *childLog) Enabled(_ context.Context, level slog.Level) bool {
	return l.verbose || level >= slog.LevelInfo
}

func (l *childLog) Handle(_ context.Context, r slog.Record) error {
	text, child := r.Message, false
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stderr" {
			text, child = a.Value.String(), true
			return false
		}
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	text = console.OneLine(text)
	switch {
	case l.verbose:
		l.progress.Infof("  | %s", text)
	case child:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, text)
		l.lines = l.lines[max(0, len(l.lines)-maxChildLines):]
	}
	return nil
}

func (l *childLog) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *childLog) WithGroup(string) slog.Handler      { return l }

// onLog shows the messages that the server logs.
func (s *session) onLog(_ context.Context, m mcp.LogMessage) {
	text := ""
	if json.Unmarshal(m.Data, &text) != nil {
		text = string(m.Data)
	}
	if m.Logger != "" {
		text = m.Logger + ": " + text
	}
	s.progress.Infof("[%s] %s", levelName(m.Level), console.ErrorText(text))
}

// levelName is the protocol's name of a level.
func levelName(l slog.Level) string {
	names := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	levels := []slog.Level{slog.LevelInfo, slog.LevelInfo + 2, slog.LevelWarn, slog.LevelError, slog.LevelError + 4, slog.LevelError + 8, slog.LevelError + 12}
	i, found := slices.BinarySearch(levels, l)
	if found {
		i++
	}
	return names[i]
}

// progressText is a line about how far a call has come.
func progressText(p mcp.Progress) string {
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		text = fmt.Sprintf("%3.0f %%  %g of %g", min(100, 100*p.Progress/p.Total), p.Progress, p.Total)
	}
	if p.Message != "" {
		text += "  " + p.Message
	}
	return text
}
