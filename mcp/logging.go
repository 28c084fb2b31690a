package mcp

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
)

// A LogLevel is the severity of a log message. Levels are ordered, from
// LogDebug up. The zero LogLevel is not valid.
type LogLevel uint8

const (
	LogDebug LogLevel = iota + 1
	LogInfo
	LogNotice
	LogWarning
	LogError
	LogCritical
	LogAlert
	LogEmergency
)

var _ slog.Leveler = LogLevel(0)

var logLevels = [...]struct {
	name string
	slog slog.Level
}{
	LogDebug:     {"debug", slog.LevelDebug},
	LogInfo:      {"info", slog.LevelInfo},
	LogNotice:    {"notice", slog.LevelInfo + 2},
	LogWarning:   {"warning", slog.LevelWarn},
	LogError:     {"error", slog.LevelError},
	LogCritical:  {"critical", slog.LevelError + 4},
	LogAlert:     {"alert", slog.LevelError + 8},
	LogEmergency: {"emergency", slog.LevelError + 12},
}

// ParseLogLevel returns the level with a name such as "warning". It returns
// false for any other text.
func ParseLogLevel(name string) (LogLevel, bool) {
	for l := LogDebug; l <= LogEmergency; l++ {
		if logLevels[l].name == name {
			return l, true
		}
	}
	return 0, false
}

// LogLevelOf returns the highest level not above l, but at least LogDebug.
func LogLevelOf(l slog.Level) LogLevel {
	for level, names := range slices.Backward(logLevels[:]) {
		if level > int(LogDebug) && names.slog <= l {
			return LogLevel(level)
		}
	}
	return LogDebug
}

// String returns the level's name, or "" for the zero LogLevel.
func (l LogLevel) String() string { return logLevels[l].name }

// Level returns the level on slog's scale.
func (l LogLevel) Level() slog.Level { return logLevels[l].slog }

// MarshalText returns the level's name.
func (l LogLevel) MarshalText() ([]byte, error) {
	if l < LogDebug || l > LogEmergency {
		return nil, fmt.Errorf("mcp: invalid log level %d", uint8(l))
	}
	return []byte(l.String()), nil
}

// UnmarshalText parses a level's name. An unknown name is an error.
func (l *LogLevel) UnmarshalText(name []byte) error {
	level, ok := ParseLogLevel(string(name))
	if !ok {
		return fmt.Errorf("mcp: unknown log level %q", name)
	}
	*l = level
	return nil
}

type logParams struct {
	Level  LogLevel        `json:"level"`
	Logger string          `json:"logger,omitzero"`
	Data   json.RawMessage `json:"data"`
	Meta   Meta            `json:"_meta,omitzero"`
}
