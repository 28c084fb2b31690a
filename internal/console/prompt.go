package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/bossman-dev/bossman/internal/plaindir"
)

// Prompt asks for a line. The end of the input is an empty line.
func (c *Console) Prompt(ctx context.Context, text string) (string, error) {
	line, err := c.ReadLine(ctx, text)
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	return line, err
}

// ReadLine asks for a line. It returns io.EOF at the end of the input.
func (c *Console) ReadLine(ctx context.Context, text string) (string, error) {
	if err := c.Out.Flush(); err != nil {
		return "", err
	}
	fmt.Fprint(c.Err, text)
	if c.lines == nil {
		c.lines = bufio.NewReader(c.Stdin)
	}
	line, err := interruptible(ctx, func() (string, error) { return c.lines.ReadString('\n') })
	if err != nil && line == "" {
		fmt.Fprintln(c.Err)
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// ReadSecret asks for a line that is not shown while it is typed. Standard input must be
// a terminal.
func (c *Console) ReadSecret(ctx context.Context, text string) (string, error) {
	fd := int(c.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	fmt.Fprint(c.Err, text)
	secret, err := interruptible(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if ctx.Err() != nil {
		_ = term.Restore(fd, before)
	}
	fmt.Fprintln(c.Err)
	return strings.TrimSpace(string(secret)), err
}

// MaxInput bounds what a command reads at once, unless it has a limit of its own.
const MaxInput = 64 << 20

// ReadFile reads a regular file of at most limit bytes that was named on the command line. The
// name - is standard input, which may be a pipe.
func (c *Console) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	return interruptible(ctx, func() ([]byte, error) {
		f := c.Stdin
		if name != "-" {
			var err error
			if f, err = OpenFile(name); CodeOf(err) == Usage {
				return nil, WithNext(err, "use - to read standard input, which may be a pipe")
			} else if err != nil {
				return nil, err
			}
			defer f.Close()
		}
		tooLong := Usagef("%s is over %d MiB", name, limit>>20)
		if info, err := f.Stat(); err == nil && info.Size() > limit {
			return nil, tooLong
		}
		text, err := io.ReadAll(io.LimitReader(f, limit+1))
		if err == nil && int64(len(text)) > limit {
			return nil, tooLong
		}
		return text, err
	})
}

// OpenFile opens a regular file that was named on the command line. It does not wait for the
// other end of a pipe.
func OpenFile(name string) (*os.File, error) {
	f, _, err := plaindir.OpenFile(os.OpenFile, name)
	if errors.Is(err, fs.ErrInvalid) {
		return nil, Usagef("%s is not a regular file", name)
	}
	return f, err
}

// interruptible calls read and returns early if ctx ends: Ctrl-C must not wait for a key.
// The goroutine that reads is then left behind until the program ends.
func interruptible[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := read()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}
