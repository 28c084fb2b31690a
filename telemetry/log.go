package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"go.opentelemetry.io/otel/trace"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// maxLogged limits a value in a log line, in bytes.
const maxLogged = 2048

// Logger returns a logger that writes lines of JSON. Control, formatting and
// bidirectional characters are escaped, and long values are truncated. If the
// context has a span, the line has its ids. A line about an error for which the board is
// away is for debugging, whatever its level: Database says that, once.
func Logger(w io.Writer, level slog.Leveler) *slog.Logger {
	h := slog.NewJSONHandler(escapingWriter{w}, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return short(a) }})
	return slog.New(&spanHandler{h})
}

// short truncates long values. It respects how a value formats itself, so that
// secrets stay redacted.
func short(a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		if s := a.Value.String(); len(s) > maxLogged {
			a.Value = slog.StringValue(visible.Cut(s, maxLogged))
		}
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case *slog.Source:
		case error:
			a.Value = slog.StringValue(visible.Cut(v.Error(), maxLogged))
		default:
			b, err := jsonv2.Marshal(v)
			switch {
			case err != nil:
				a.Value = slog.StringValue("(cannot be encoded)")
			case len(b) > maxLogged:
				a.Value = slog.StringValue(visible.Cut(string(b), maxLogged))
			}
		}
	}
	return a
}

// clip shortens names.
func clip(s string) string { return visible.Cut(strings.ToValidUTF8(s, "�"), 128) }

// A spanHandler adds the ids of the context's span.
type spanHandler struct{ slog.Handler }

func (h *spanHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug && isOutage(r) {
		if !h.Enabled(ctx, slog.LevelDebug) {
			return nil
		}
		r = r.Clone()
		r.Level = slog.LevelDebug
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String(KeyTrace, sc.TraceID().String()), slog.String(KeySpan, sc.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// isOutage reports whether a line tells that something failed because the board is away.
func isOutage(r slog.Record) (yes bool) {
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		yes = yes || ok && errors.Is(err, board.ErrUnavailable)
		return !yes
	})
	return yes
}

func (h *spanHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &spanHandler{h.Handler.WithAttrs(attrs)}
}

func (h *spanHandler) WithGroup(name string) slog.Handler {
	return &spanHandler{h.Handler.WithGroup(name)}
}

// An escapingWriter writes lines of JSON, each with one Write, and escapes
// characters that JSON allows but terminals should not see.
type escapingWriter struct{ w io.Writer }

func (e escapingWriter) Write(line []byte) (int, error) {
	clean := line
	if n := len(line); n > 0 && !plain(line[:n-1]) {
		clean = append(escape(make([]byte, 0, n+64), line[:n-1]), line[n-1])
	}
	if _, err := e.w.Write(clean); err != nil {
		return 0, err
	}
	return len(line), nil
}

// plain reports whether b is printable ASCII.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// escape appends JSON with invisible characters, and those that change how
// others are displayed, escaped. In JSON they can only occur inside a string.
func escape(dst, json []byte) []byte {
	for len(json) > 0 {
		r, n := utf8.DecodeRune(json)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, `\ufffd`...)
		case !hidden(r):
			dst = append(dst, json[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = unicodeEscape(unicodeEscape(dst, high), low)
		default:
			dst = unicodeEscape(dst, r)
		}
		json = json[n:]
	}
	return dst
}

// hidden reports whether a character is a control or formatting character, a
// tag, or a line separator.
func hidden(r rune) bool {
	switch {
	case r < ' ' || r == 0x7f:
		return true
	case r < 0x80:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) ||
		unicode.Is(unicode.Variation_Selector, r) || r >= 0xe0000 && r <= 0xe0fff || r == 0x115f || r == 0x1160 || r == 0x3164
}

func unicodeEscape(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
