package console

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/internal/visible"
)

// ours are the sequences that the console itself writes.
var ours = regexp.MustCompile("\x1b\\[(?:0|1|2|31|32|33|36)m")

func TestEscaper(t *testing.T) {
	c := &Console{colour: true}
	for _, tt := range []struct {
		writes []string
		want   string
	}{
		{[]string{"a\x1b[31mb\r\n", "ü\u202e"}, "a<U+001B>[31mb<U+000D>\nü<U+202E>"},
		{[]string{c.Styled(Red, "no\x1b[0m\x07")}, "\x1b[31mno<U+001B>[0m<U+0007>\x1b[0m"},
		{[]string{styleKey[:5], styleKey[5:] + "3", "1m!"}, "\x1b[31m!"}, // in parts
		{[]string{"日"[:1], "日"[1:]}, "日"},
		{[]string{"\x1b", "[2J"}, "<U+001B>[2J"},
		{[]string{styleKey + "5mblinks"}, "blinks"}, // none of our styles
		{[]string{"a\xff", "b"}, "a\ufffdb"},
	} {
		var out bytes.Buffer
		e := newEscaper(&out)
		for _, s := range tt.writes {
			if n, err := e.Write([]byte(s)); n != len(s) || err != nil {
				t.Errorf("Write(%q) = %d, %v", s, n, err)
			}
		}
		if out.String() != tt.want {
			t.Errorf("%q is %q, want %q", tt.writes, out.String(), tt.want)
		}
	}
}

// FuzzEscaper holds that text of others cannot act on the terminal, in however many pieces it
// is written, and whatever styles it stands in.
func FuzzEscaper(f *testing.F) {
	f.Add("a\x1b[31mb\x07\u202e", 3)
	f.Add("\x1b[0m\x1b", 1)
	f.Fuzz(func(t *testing.T, s string, size int) {
		c := &Console{colour: true}
		var out bytes.Buffer
		e := newEscaper(&out)
		text := []byte(c.Styled(Bold, s) + "\n" + s + ".")
		for size = max(1, size); len(text) > 0; {
			n := min(size, len(text))
			if _, err := e.Write(text[:n]); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
		got := out.String()
		if s != "" && (!strings.HasPrefix(got, "\x1b[1m") || strings.Count(got, "\x1b") != 2) {
			t.Errorf("%q is written as %q", s, got)
		}
		got = ours.ReplaceAllString(got, "")
		if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && visible.Hidden(r) }) || !utf8.ValidString(got) {
			t.Errorf("%q is written as %q", s, got)
		}
	})
}

// A text of a server that looks like a prompt of ours stands behind a margin, also where the
// terminal would break the line.
func TestQuote(t *testing.T) {
	c := testConsole()
	text := "Accept? [y/N] \r\nbossman: \x1b[2Jthe key is wrong" + strings.Repeat(" x", 100) + "\u2028Key for https://example.org: "
	for l := range strings.Lines(c.Quote(text)) {
		if !strings.HasPrefix(l, "  > ") || TextWidth(strings.TrimRight(l, "\n")) > 100 || strings.ContainsAny(l, "\r\x1b") {
			t.Errorf("line %q", l)
		}
	}
	var out bytes.Buffer
	c.Err = newEscaper(&out)
	c.Infof("The server says %s", "yes\nbossman: no")
	if got, want := out.String(), "The server says yes\n    > bossman: no\n"; got != want {
		t.Errorf("Infof = %q, want %q", got, want)
	}
}
