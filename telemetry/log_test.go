package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/bossman-dev/bossman/telemetry"
)

// corpus are texts that forge lines, move a terminal's cursor or turn the text around.
var corpus = []string{
	"two\nlines", "carriage\rreturn", "\x1b[2J\x1b[31mred", "bell\a", "nul\x00", "del\x7f", "c1\u009b31m",
	"\u202egnp.exe", "\u2066isolate\u2069", "\u200fmark", "\u061cmark", "line\u2028end\u2029", "\u200bzero", "\ufeffbom",
	"tag\U000e0041\U000e007f", "private\ue000", "selector\ufe0f\U000e0100", "filler\u3164", "broken\xff\xfe", `{"level":"ERROR"}`,
	`"},{"`, "ünïcödé 漢字 🙂",
}

func TestLogger_escapes(t *testing.T) {
	for _, text := range corpus {
		var out bytes.Buffer
		log := telemetry.Logger(&out, slog.LevelInfo)
		log.With("with", text).Info(text, "value", text, text, "as a key", "err", errors.New(text), "any", map[string]any{text: text},
			slog.Group("group", "value", text))
		line := out.String()
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
			t.Errorf("%q became %q, want one line", text, line)
		}
		for _, r := range strings.TrimSuffix(line, "\n") {
			if telemetry.Hidden(r) || r == utf8.RuneError {
				t.Errorf("%q became %q, with %U in it", text, line, r)
			}
		}
		var back map[string]any
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Fatalf("%q became %q: %v", text, line, err)
		}
		want := strings.ToValidUTF8(text, "\ufffd")
		if utf8.ValidString(text) && (back["msg"] != want || back["value"] != want || back["err"] != want || back["with"] != want) {
			t.Errorf("%q reads as %q", text, back)
		}
	}
}

func TestLogger_cuts(t *testing.T) {
	var out bytes.Buffer
	log := telemetry.Logger(&out, slog.LevelInfo)
	long := strings.Repeat("ü", 100_000)
	log.Info(long, "value", long, "err", errors.New(long), "any", []string{long}, "group", slog.GroupValue(slog.String("x", long)))
	if n := out.Len(); n > 6*telemetry.MaxLogged {
		t.Errorf("the line has %d bytes", n)
	}
	if !json.Valid(out.Bytes()) {
		t.Errorf("not JSON: %q", out.String())
	}
}

// A secret shows itself in no way.
type secret string

func (secret) String() string               { return "[redacted]" }
func (secret) MarshalJSON() ([]byte, error) { return []byte(`"[redacted]"`), nil }
func (secret) LogValue() slog.Value         { return slog.StringValue("[redacted]") }

func TestLogger_secrets(t *testing.T) {
	var out bytes.Buffer
	telemetry.Logger(&out, slog.LevelInfo).Info("x", "a", secret("canary"), "b", struct{ S secret }{"canary"}, "c", []secret{"canary"})
	if strings.Contains(out.String(), "canary") {
		t.Errorf("the secret is in %s", out.String())
	}
}

func TestLogger_ids(t *testing.T) {
	var out bytes.Buffer
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(context.Background(), sc)
	log := telemetry.Logger(&out, slog.LevelInfo).With("k", "v")
	log.InfoContext(ctx, "x")
	log.DebugContext(ctx, "not this")
	for _, want := range []string{`"trace_id":"` + sc.TraceID().String() + `"`, `"span_id":"` + sc.SpanID().String() + `"`, `"k":"v"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "not this") {
		t.Error("a line below the level was written")
	}
}

func FuzzEscape(f *testing.F) {
	for _, text := range corpus {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := json.Marshal(text)
		if err != nil {
			t.Skip()
		}
		out := telemetry.Escape(nil, in)
		for _, r := range string(out) {
			if telemetry.Hidden(r) {
				t.Fatalf("%q became %q, with %U in it", text, out, r)
			}
		}
		var was, is string
		if json.Unmarshal(in, &was) != nil || json.Unmarshal(out, &is) != nil || was != is {
			t.Fatalf("%q became %q", in, out)
		}
	})
}
