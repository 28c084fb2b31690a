//go:build unix

package console

import (
	"os"
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
