//go:build unix

package console

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestLive_oneWrite: the block is replaced in one write, so that a terminal never shows it half drawn.
func TestLive_oneWrite(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0) // which keeps writes apart
	if err != nil {
		t.Fatal(err)
	}
	screen, stderr := os.NewFile(uintptr(pair[0]), "screen"), os.NewFile(uintptr(pair[1]), "stderr")
	defer screen.Close()
	defer stderr.Close()
	c := New(os.Stdin, stderr, stderr, func(string) string { return "" })
	l := &Live{console: c, terminal: true}
	shows := func(want string) {
		t.Helper()
		b := make([]byte, 1000)
		n, err := screen.Read(b)
		if got := string(b[:n]); err != nil || got != want {
			t.Errorf("the terminal is sent %q, %v, want %q", got, err, want)
		}
	}
	l.Set([]string{"one", "two\x1b[A"})
	shows("one\ntwo<U+001B>[A\n")
	l.Infof("%s", "above")
	shows("\x1b[2A\r\x1b[Jabove\none\ntwo<U+001B>[A\n")
	l.Set([]string{"three"})
	shows("\x1b[2A\r\x1b[Jthree\n")
	l.Clear()
	shows("\x1b[1A\r\x1b[J")
}

// A block that is higher than its terminal is cut: the terminal would scroll, and keep a copy of it at every change.
func TestLive_fit(t *testing.T) {
	lines := []string{"head", "1", "2", "3", "4", "5", "6", "7", "8"}
	for height, want := range map[int]string{0: "head 1 2 3 4 5 6 7 8", 13: "head 1 2 3 4 5 6 7 8", 12: "head 1 2 3 4 5 6 and 2 more", 5: "head 1 2 and 6 more"} {
		if got := strings.Join(fitRows(lines, height), " "); got != want {
			t.Errorf("%d rows: %q, want %q", height, got, want)
		}
	}
}
