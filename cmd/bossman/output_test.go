package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestTable_fits(t *testing.T) {
	cols := []column{{head: "TASK"}, {head: "TITLE", flex: true}, {head: "WORKER", drop: 1}, {head: "AGE", right: true, drop: 2}}
	rows := [][]cell{
		{{"web-1", ""}, {"A rather long title that does not fit anywhere in a narrow terminal", ""}, {"otter-7k", ""}, {"3 s ago", ""}},
		{{"web-2", ""}, {"日本語のとても長いタイトルはどこにも収まりません、それでも表示されます", ""}, {"", ""}, {"12 min ago", ""}},
	}
	for _, width := range []int{200, 100, 80, 60, 40, 30, 24} {
		var out strings.Builder
		paint{width: width}.table(&out, "  ", cols, rows)
		for l := range strings.Lines(out.String()) {
			if got := textWidth(strings.TrimRight(l, "\n")); got > width {
				t.Errorf("at %d columns a line has %d: %s", width, got, l)
			}
		}
		if !strings.Contains(out.String(), "web-2") {
			t.Errorf("at %d columns the ids are gone:\n%s", width, out.String())
		}
	}
	var out strings.Builder
	paint{}.table(&out, "", cols, rows)
	if !strings.Contains(out.String(), "narrow terminal") {
		t.Error("without a terminal something is cut")
	}
}

func TestWrap(t *testing.T) {
	text := "one two three four five six seven eight nine ten\n\nshort\n" + strings.Repeat("x", 50)
	for l := range strings.Lines(paint{width: 30}.wrap(text, "  ")) {
		if textWidth(strings.TrimRight(l, "\n")) > 30 {
			t.Errorf("too wide: %q", l)
		}
	}
	if got := (paint{}).wrap(text, ""); got != text+"\n" {
		t.Errorf("without a terminal wrap = %q", got)
	}
}

func TestNewPaint_colour(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"FORCE_COLOR": "1"}, true},
		{map[string]string{"FORCE_COLOR": "0"}, false},
		{map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false},
	} {
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		if got := newPaint(null, func(k string) string { return test.env[k] }); got.on != test.want || got.width != 0 {
			t.Errorf("newPaint(%v) = %+v, want colour %v", test.env, got, test.want)
		}
		null.Close()
	}
}

func TestHostile(t *testing.T) {
	for _, r := range "\x00\x1b\x7f\u0085\u009b\u2028\u202a\u202e\u2066\u2069\ufeff\U000e0041" {
		if !hostile(r) {
			t.Errorf("hostile(%U) = false", r)
		}
	}
	for _, r := range "aé日🎉\u200d\u200f → " {
		if hostile(r) {
			t.Errorf("hostile(%U) = true", r)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("a\x1b[31mb\x07\u202e\u0085\u2028\u2066\U000e0041")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range plain(s) {
			if hostile(r) && r != '\n' && r != '\t' {
				t.Errorf("plain(%q) has %U", s, r)
			}
		}
		text, err := json.Marshal(s, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := errors.Join(json.Unmarshal(text, &before), json.Unmarshal(escaped(text), &after)); err != nil || before != after {
			t.Errorf("escaped(%q) = %q, %v", text, escaped(text), err)
		}
		if bytes.ContainsFunc(escaped(text), hostile) {
			t.Errorf("escaped(%q) = %q", text, escaped(text))
		}
		if n := textWidth(cut(line(s), 10)); n > 10 {
			t.Errorf("cut(%q) has %d columns", s, n)
		}
	})
}

// A column that is broken into lines stands below the others where there is no room.
func TestTable_narrow(t *testing.T) {
	cols := []column{{head: "ARGUMENT"}, {head: "TYPE"}, {head: "WHAT IT IS", flex: true, wrap: true}}
	rows := [][]cell{{{"elicitation", ""}, {"boolean", ""}, {"What is done with the answer of the person", ""}}, {{"url", ""}, {"string", ""}, {"", ""}}}
	for width, want := range map[int]string{
		40: "  ARGUMENT     TYPE\n  elicitation  boolean\n      What is done with the answer of\n      the person\n  url          string\n",
		60: "  ARGUMENT     TYPE     WHAT IT IS\n  elicitation  boolean  What is done with the answer of the\n                        person\n  url          string\n",
	} {
		var got bytes.Buffer
		paint{width: width}.table(&got, "  ", cols, rows)
		if got.String() != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got.String(), want)
		}
	}
}
