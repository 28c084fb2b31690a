package mcp

import (
	"log/slog"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

func TestLogLevel(t *testing.T) {
	names := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	for i, name := range names {
		l, ok := parseLogLevel(name)
		if !ok || l != logDebug+logLevel(i) || l.String() != name {
			t.Errorf("ParseLogLevel(%q) = %v, %v", name, l, ok)
		}
		if got := logLevelOf(l.Level()); got != l {
			t.Errorf("LogLevelOf(%v.Level()) = %v", l, got)
		}
		b, err := jsonv2.Marshal(l)
		if err != nil || string(b) != `"`+name+`"` {
			t.Errorf("Marshal(%v) = %s, %v", l, b, err)
		}
		var back logLevel
		if err := jsonv2.Unmarshal(b, &back); err != nil || back != l {
			t.Errorf("Unmarshal(%s) = %v, %v", b, back, err)
		}
	}
	for _, name := range []string{"", "warn", "Error", "5"} {
		if l, ok := parseLogLevel(name); ok {
			t.Errorf("ParseLogLevel(%q) = %v, want none", name, l)
		}
	}
	var l logLevel
	if err := jsonv2.Unmarshal([]byte(`"loud"`), &l); err == nil {
		t.Errorf("Unmarshal(loud) = %v, want an error", l)
	}
	if b, err := jsonv2.Marshal(logLevel(0)); err == nil {
		t.Errorf("Marshal(0) = %s, want an error", b)
	}
}

func TestLogLevelOf_between(t *testing.T) {
	tests := []struct {
		l    slog.Level
		want logLevel
	}{
		{slog.LevelDebug - 10, logDebug},
		{slog.LevelDebug + 1, logDebug},
		{slog.LevelInfo + 1, logInfo},
		{slog.LevelWarn + 3, logWarning},
		{slog.LevelError + 100, logEmergency},
	}
	for _, tt := range tests {
		if got := logLevelOf(tt.l); got != tt.want {
			t.Errorf("LogLevelOf(%v) = %v, want %v", tt.l, got, tt.want)
		}
	}
}
