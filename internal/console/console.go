package console

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// A Console is the terminal of one command.
type Console struct {
	Stdin *os.File
	// Out is standard output, buffered. It must be flushed at the end of the command.
	Out *bufio.Writer
	// Err is standard error.
	Err io.Writer
	// JSON is set if the answer and errors are written as JSON.
	JSON bool
	// Pager shows a text in a program, and waits until its reader has seen enough. It returns an error
	// if the program could not be started. Nil: there is none.
	Pager func(command []string, text io.Reader) error
	// Getenv reads the environment.
	Getenv func(string) string

	stdout, stderr *os.File

	colour bool
	width  int           // columns of the terminal; 0 if standard output is not one
	lines  *bufio.Reader // Stdin, once a line was read from it
}

// New returns a Console on three files. Colours follow NO_COLOR, then FORCE_COLOR, then
// whether stdout is a terminal.
func New(stdin, stdout, stderr *os.File, getenv func(string) string) *Console {
	c := &Console{Stdin: stdin, stdout: stdout, stderr: stderr, Out: bufio.NewWriter(newEscaper(stdout)), Err: newEscaper(stderr), Getenv: getenv}
	c.width, _ = terminalSize(stdout)
	switch {
	case getenv("NO_COLOR") != "":
	case getenv("FORCE_COLOR") != "":
		c.colour = getenv("FORCE_COLOR") != "0"
	default:
		c.colour = c.width > 0 && getenv("TERM") != "dumb"
	}
	return c
}

// Width is the number of columns of the terminal, 0 if standard output is not one.
func (c *Console) Width() int { return c.width }

// OutIsTerminal reports whether standard output is a terminal.
func (c *Console) OutIsTerminal() bool { return IsTerminal(c.stdout) }

// ErrIsTerminal reports whether standard error is a terminal.
func (c *Console) ErrIsTerminal() bool { return IsTerminal(c.stderr) }

// errWidth is the number of columns of standard error, 0 if it is not a terminal.
func (c *Console) errWidth() int {
	width, _ := terminalSize(c.stderr)
	return width
}

// Linef writes a line to standard output. Further lines of an argument stand behind a margin.
func (c *Console) Linef(format string, args ...any) {
	fmt.Fprintf(c.Out, format+"\n", indented(args)...)
}

// Infof writes a line to standard error: a remark beside the answer. Further lines of an
// argument stand behind a margin.
func (c *Console) Infof(format string, args ...any) {
	fmt.Fprintf(c.Err, format+"\n", indented(args)...)
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalSize is the number of columns and rows of f, 0 if it is not a terminal. Rows that are not known are 0, too.
func terminalSize(f *os.File) (width, height int) {
	if !IsTerminal(f) {
		return 0, 0
	}
	if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w, h
	}
	return 80, 0
}
