package cli

import (
	"cmp"
	"log/slog"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

const defaultLevel = "info"

// LogLevel adds the flag --log-level to the command of a server.
func LogLevel(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "log-level", defaultLevel, "minimum level of log messages: debug, info, warn or error")
}

// ParseLevel returns the level that --log-level names, or the default for "".
func ParseLevel(name string) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(cmp.Or(name, defaultLevel))); err != nil {
		return level, console.Usagef("invalid --log-level %.20q: want debug, info, warn or error", name)
	}
	return level, nil
}
