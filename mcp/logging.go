package mcp

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
)

// A logLevel is the severity of a log message on the wire. Levels are ordered,
// from logDebug up. The zero logLevel means none.
type logLevel uint8

const (
	logDebug logLevel = iota + 1
	logInfo
	logNotice
	logWarning
	logError
	logCritical
	logAlert
	logEmergency
)

var logLevels = [...]struct {
	name string
	slog slog.Level
}{
	logDebug:     {"debug", slog.LevelDebug},
	logInfo:      {"info", slog.LevelInfo},
	logNotice:    {"notice", slog.LevelInfo + 2},
	logWarning:   {"warning", slog.LevelWarn},
	logError:     {"error", slog.LevelError},
	logCritical:  {"critical", slog.LevelError + 4},
	logAlert:     {"alert", slog.LevelError + 8},
	logEmergency: {"emergency", slog.LevelError + 12},
}

// parseLogLevel returns the level with a name such as "warning". It returns
// false for any other text.
func parseLogLevel(name string) (logLevel, bool) {
	for l := logDebug; l <= logEmergency; l++ {
		if logLevels[l].name == name {
			return l, true
		}
	}
	return 0, false
}

// logLevelOf returns the highest level not above l, but at least logDebug.
func logLevelOf(l slog.Level) logLevel {
	for level, names := range slices.Backward(logLevels[:]) {
		if level > int(logDebug) && names.slog <= l {
			return logLevel(level)
		}
	}
	return logDebug
}

// String returns the level's name, or "" for the zero logLevel.
func (l logLevel) String() string { return logLevels[l].name }

// Level returns the level on slog's scale.
func (l logLevel) Level() slog.Level { return logLevels[l].slog }

// MarshalText returns the level's name.
func (l logLevel) MarshalText() ([]byte, error) {
	if l < logDebug || l > logEmergency {
		return nil, fmt.Errorf("mcp: invalid log level %d", uint8(l))
	}
	return []byte(l.String()), nil
}

// UnmarshalText parses a level's name. An unknown name is an error.
func (l *logLevel) UnmarshalText(name []byte) error {
	level, ok := parseLogLevel(string(name))
	if !ok {
		return fmt.Errorf("mcp: unknown log level %q", name)
	}
	*l = level
	return nil
}

// A LogMessage is a log message from the server. Levels that slog does not name
// are notice 2, critical 12, alert 16 and emergency 20.
type LogMessage struct {
	Level  slog.Level
	Logger string          // the part of the server that it is from; may be empty
	Data   json.RawMessage // any JSON value, often a string
}

type logParams struct {
	Level  logLevel        `json:"level"`
	Logger string          `json:"logger,omitzero"`
	Data   json.RawMessage `json:"data"`
	Meta   Meta            `json:"_meta,omitzero"`
}
