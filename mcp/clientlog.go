package mcp

import (
	"context"
	"log/slog"
)

// clientLogHandler is a slog.Handler that sends records to the client of a
// call.
type clientLogHandler struct {
	call  *Call
	attrs []slog.Attr
	group string
}

func (l *clientLogHandler) Enabled(_ context.Context, level slog.Level) bool {
	minLevel := l.call.Request.logLevel
	return minLevel != 0 && !l.call.inTask && logLevelOf(level) >= minLevel
}

func (l *clientLogHandler) Handle(_ context.Context, r slog.Record) error {
	data := map[string]any{}
	for _, a := range l.attrs {
		addAttr(data, a)
	}
	r.Attrs(func(a slog.Attr) bool {
		a.Key = l.group + a.Key
		addAttr(data, a)
		return true
	})
	var v any = r.Message
	if len(data) > 0 {
		data["message"] = r.Message
		v = data
	}
	b, err := encodeUser(v)
	if err != nil {
		return err
	}
	l.call.notify("notifications/message", logParams{Level: logLevelOf(r.Level), Logger: l.call.Request.server.info.Name, Data: b})
	return nil
}

func addAttr(data map[string]any, a slog.Attr) {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindGroup:
		sub := map[string]any{}
		for _, g := range v.Group() {
			addAttr(sub, g)
		}
		data[a.Key] = sub
	case slog.KindDuration, slog.KindTime:
		data[a.Key] = v.String()
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			data[a.Key] = err.Error()
			return
		}
		data[a.Key] = v.Any()
	default:
		data[a.Key] = v.Any()
	}
}

func (l *clientLogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	next.attrs = append([]slog.Attr(nil), l.attrs...)
	for _, a := range attrs {
		a.Key = l.group + a.Key
		next.attrs = append(next.attrs, a)
	}
	return &next
}

func (l *clientLogHandler) WithGroup(name string) slog.Handler {
	next := *l
	next.group = l.group + name + "."
	return &next
}
