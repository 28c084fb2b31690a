package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// maxLog is the size of an upstream's log. The one before it is kept, too.
const maxLog = 1 << 20

// A childLog is a slog.Handler that writes what an upstream's process says to a file, without secrets.
// Without a directory it drops it.
type childLog struct {
	u   *upstream
	dir string

	mu *sync.Mutex
}

// LogFile is the file with what an upstream's process wrote to its standard error.
func LogFile(dir, upstream string) string { return filepath.Join(dir, upstream+".log") }

func (g *Gateway) childLogger(u *upstream) *slog.Logger {
	return slog.New(&childLog{u: u, dir: g.o.LogDir, mu: &u.logging})
}

func (h *childLog) Enabled(_ context.Context, level slog.Level) bool {
	return h.dir != "" && level >= slog.LevelInfo
}

func (h *childLog) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stderr" {
			line.WriteString(a.Value.String())
		} else if r.Message != "child" {
			fmt.Fprintf(&line, " %s=%v", a.Key, a.Value)
		}
		return true
	})
	text := line.String()
	if r.Message != "child" {
		text = r.Message + text
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return err
	}
	name := LogFile(h.dir, h.u.Name)
	if info, err := os.Stat(name); err == nil && info.Size() > maxLog {
		_ = os.Rename(name, name+".old")
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %s\n", r.Time.UTC().Format(time.RFC3339), spellOut(h.u.redact(text)))
	return err
}

func (h *childLog) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *childLog) WithGroup(string) slog.Handler      { return h }
