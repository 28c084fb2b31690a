package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// testConsole is a Console on the files of the test.
func testConsole() *Console {
	return New(os.Stdin, os.Stdout, os.Stderr, func(string) string { return "" })
}

// Only the end of our own reader is no error.
func TestOutputClosed(t *testing.T) {
	c := testConsole()
	pipe := os.NewSyscallError("write", syscall.EPIPE)
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("print: %w", &fs.PathError{Op: "write", Path: c.stdout.Name(), Err: syscall.EPIPE}), true},
		{&fs.PathError{Op: "write", Path: c.stdout.Name(), Err: syscall.ENOSPC}, false},
		{&fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, false},
		{&net.OpError{Op: "write", Net: "tcp", Err: pipe}, false},
	} {
		if got := c.outputClosed(tt.err); got != tt.want {
			t.Errorf("outputClosed(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

type codedError struct{ code ExitCode }

func (e *codedError) Error() string      { return "coded" }
func (e *codedError) ExitCode() ExitCode { return e.code }
func (e *codedError) NextStep() string   { return "go on" }

// The outermost code and next step of a chain count, and any type may have them.
func TestCodeOf(t *testing.T) {
	plain := errors.New("plain")
	for _, tt := range []struct {
		name string
		err  error
		code ExitCode
		next string
	}{
		{"nil", nil, 0, ""},
		{"plain", plain, 0, ""},
		{"usage", Usagef("no: %w", plain), Usage, ""},
		{"with next", WithNext(plain, "try"), 0, "try"},
		{"next added", WithNext(Usagef("no"), "try"), Usage, "try"},
		{"next kept", WithNext(Errorf(Denied, "ask", "no"), "try"), Denied, "ask"},
		{"own type", &codedError{Conflict}, Conflict, "go on"},
		{"inside", fmt.Errorf("do it: %w", &codedError{Conflict}), Conflict, "go on"},
		{"below one without a code", &Error{Err: fmt.Errorf("do it: %w", Usagef("no"))}, Usage, ""},
		{"over another", Errorf(NotFound, "", "gone: %w", &codedError{Conflict}), NotFound, "go on"},
	} {
		if code, next := CodeOf(tt.err), NextOf(tt.err); code != tt.code || next != tt.next {
			t.Errorf("%s: code %v, next %q, want %v, %q", tt.name, code, next, tt.code, tt.next)
		}
	}
}

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		err  error
		json bool
		code ExitCode
		want string
	}{
		{nil, false, OK, ""},
		{errors.New("a\nbossman: b\x1b"), false, Failure, "bossman: a\n    > bossman: b<U+001B>\n"},
		{&Error{Code: Denied, Err: errors.New("no:\n> one\nfix it"), Quoted: true}, false, Denied, "bossman: no:\n    > one\n    fix it\n"},
		{WithNext(&Error{Err: errors.New("no:\nfix it"), Quoted: true}, "try"), false, Failure, "bossman: no:\n    fix it\n  next: try\n"},
		{Errorf(Denied, "a\nb", "no"), false, Denied, "bossman: no\n  next: a\n    > b\n"},
		{Errorf(Denied, "ask", "no"), false, Denied, "bossman: no\n  next: ask\n"},
		{Errorf(Denied, "ask", "no"), true, Denied, `{"error":{"code":4,"kind":"not_allowed","message":"no","next":"ask"}}` + "\n"},
		{fmt.Errorf("read: %w", context.Canceled), false, Failure, "bossman: interrupted\n"},
	} {
		file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		c := testConsole()
		c.Err, c.JSON = newEscaper(file), tt.json
		code := c.Report(tt.err)
		file.Close()
		if text, _ := os.ReadFile(file.Name()); code != tt.code || string(text) != tt.want {
			t.Errorf("Report(%v) = %v and %q, want %v and %q", tt.err, code, text, tt.code, tt.want)
		}
	}
}

// No line of an error begins where ours do, however wide the terminal is.
func TestErrorLines(t *testing.T) {
	text := "bossman: the server refused: no" + strings.Repeat(" .", 30) + " bossman: all is well\n> " + strings.Repeat("x ", 100) + "\nbossman: " + strings.Repeat("y", 100)
	for _, width := range []int{40, 80} {
		for _, isQuoted := range []bool{false, true} {
			out := errorLines(text, isQuoted, width)
			for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
				other := strings.Contains(line, "x") || !isQuoted && strings.Contains(line, "y")
				if i > 0 && !strings.HasPrefix(line, "    ") || other && !strings.HasPrefix(line, "    > ") || TextWidth(line) > width {
					t.Errorf("width %d: %q in\n%s", width, line, out)
				}
			}
		}
	}
}
