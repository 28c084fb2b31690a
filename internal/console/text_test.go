package console

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestWrap(t *testing.T) {
	text := "one two three four five six seven eight nine ten\n\nshort\n" + strings.Repeat("x", 50)
	for l := range strings.Lines((&Console{width: 30}).wrap("  ", text)) {
		if TextWidth(strings.TrimRight(l, "\n")) > 30 {
			t.Errorf("too wide: %q", l)
		}
	}
	if got := (&Console{}).wrap("", text); got != text+"\n" {
		t.Errorf("without a terminal wrap = %q", got)
	}
}

func TestIsUnsafe(t *testing.T) {
	for _, r := range "\x00\x1b\x7f\u0085\u009b\u2028\u202a\u202e\u2066\u2069\ufeff\U000e0041" {
		if !isUnsafe(r) {
			t.Errorf("isUnsafe(%U) = false", r)
		}
	}
	for _, r := range "aé日🎉\u200d\u200f → " {
		if isUnsafe(r) {
			t.Errorf("isUnsafe(%U) = true", r)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[31mb\x07\u202e\u0085\u2028\u2066\U000e0041")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Escape(s) {
			if isUnsafe(r) && r != '\n' && r != '\t' {
				t.Errorf("Escape(%q) has %U", s, r)
			}
		}
		text, err := json.Marshal(s, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := errors.Join(json.Unmarshal(text, &before), json.Unmarshal(EscapeJSON(text), &after)); err != nil || before != after {
			t.Errorf("EscapeJSON(%q) = %q, %v", text, EscapeJSON(text), err)
		}
		if bytes.ContainsFunc(EscapeJSON(text), isUnsafe) {
			t.Errorf("EscapeJSON(%q) = %q", text, EscapeJSON(text))
		}
		if n := TextWidth(Truncate(OneLine(s), 10)); n > 10 {
			t.Errorf("Truncate(%q) has %d columns", s, n)
		}
	})
}
