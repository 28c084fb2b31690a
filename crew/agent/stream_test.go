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
