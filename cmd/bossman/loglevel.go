package main

import (
	"cmp"
	"log/slog"

	"github.com/bossman-dev/bossman/internal/console"
)

// defaultLevel and levelUsage belong to the flag --log-level of a server.
const (
	defaultLevel = "info"
	levelUsage   = "minimum level of log messages: debug, info, warn or error"
)

// parseLevel returns the level that --log-level names, or the default for "".
func parseLevel(name string) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(cmp.Or(name, defaultLevel))); err != nil {
		return level, console.Usagef("invalid --log-level %.20q: want debug, info, warn or error", name)
	}
	return level, nil
}
