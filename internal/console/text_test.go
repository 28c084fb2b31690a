package console

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	text := "one two three four five six seven eight nine ten\n\nshort\n" + strings.Repeat("x", 50)
	for l := range strings.Lines(wrap("  ", text, 30)) {
		if TextWidth(strings.TrimRight(l, "\n")) > 30 {
			t.Errorf("too wide: %q", l)
		}
	}
	if got := wrap("", text, 0); got != text+"\n" {
		t.Errorf("without a terminal wrap = %q", got)
	}
}
