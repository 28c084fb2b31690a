package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/telemetry"
)

// A database that goes away for a minute is worth two lines, whatever fails meanwhile.
func TestDatabase_away(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := telemetry.Logger(&out, slog.LevelInfo)
		tel, err := telemetry.New(&telemetry.Options{Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		defer tel.Shutdown(t.Context())
		observe := tel.Database()
		away := fmt.Errorf("sweep: %w", fmt.Errorf("%w: connection refused", board.ErrUnavailable))
		observe("open", time.Millisecond, away) // the command that opens it says so
		observe("sweep", time.Millisecond, nil)
		observe("sweep", time.Millisecond, away)
		observe("claim", time.Millisecond, nil) // over a connection that still was there
		for range 60 {
			observe("sweep", time.Millisecond, away)
			log.Warn("sweep failed", "err", away)
			observe("claim", time.Millisecond, board.ErrConflict)
			time.Sleep(time.Second)
		}
		observe("claim", 10*time.Second, nil) // began before the last failure
		log.Warn("something else failed", "err", errors.New("disk on fire"))
		time.Sleep(time.Second)
		observe("sweep", time.Millisecond, nil)
		observe("sweep", time.Millisecond, nil)
		var lines []string
		for line := range strings.Lines(out.String()) {
			_, line, _ = strings.Cut(line, `"level":`)
			lines = append(lines, strings.TrimSpace(line))
		}
		want := []string{
			`"ERROR","msg":"the database is away","err":"sweep: unavailable: connection refused"}`,
			`"WARN","msg":"something else failed","err":"disk on fire"}`,
			`"INFO","msg":"the database is back","away":"1m1s"}`,
		}
		if fmt.Sprint(lines) != fmt.Sprint(want) {
			t.Errorf("logged:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		out.Reset()
		telemetry.Logger(&out, slog.LevelDebug).Warn("sweep failed", "err", away)
		if !strings.Contains(out.String(), `"level":"DEBUG","msg":"sweep failed"`) {
			t.Errorf("for debugging: %s", out.String())
		}
	})
}
