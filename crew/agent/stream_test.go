package agent

import (
	"slices"
	"strings"
	"testing"
)

// TestEachLine: a line that is too long is left out, and those after it are read.
func TestEachLine(t *testing.T) {
	var got []string
	long := strings.Repeat("x", maxEvent)
	eachLine(strings.NewReader("one\n\n"+long+"\ntwo\n"+long[1:]+"\nthree"), func(line []byte) {
		got = append(got, string(line[:min(len(line), 5)]))
	})
	if want := []string{"one", "two", "xxxxx", "three"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUncoloured: sequences for terminals are left out, and nothing else is.
func TestUncoloured(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[2m2026-01-01\x1b[0m \x1b[1;38;5;9mERROR\x1b[m a[0]\x1b[K": "2026-01-01 ERROR a[0]",
		"\x1b[": "\x1b[", "[2m": "[2m", "": "",
	} {
		if got := uncoloured([]byte(in)); got != want {
			t.Errorf("uncoloured(%q) = %q, want %q", in, got, want)
		}
	}
}
