package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// prompt asks for a line. Nothing at all is an empty one.
func (a *app) prompt(ctx context.Context, text string) (string, error) {
	l, err := a.readLine(ctx, text)
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	return l, err
}

// readLine asks for a line, and gives io.EOF if there is none.
func (a *app) readLine(ctx context.Context, text string) (string, error) {
	if err := a.out.Flush(); err != nil {
		return "", err
	}
	fmt.Fprint(a.stderr, text)
	if a.typed == nil {
		a.typed = bufio.NewReader(a.stdin)
	}
	l, err := unless(ctx, func() (string, error) { return a.typed.ReadString('\n') })
	if err != nil && l == "" {
		fmt.Fprintln(a.stderr)
		return "", err
	}
	return strings.TrimSpace(l), nil
}

// readSecret asks for a line that is not shown while it is typed.
func (a *app) readSecret(ctx context.Context, text string) (string, error) {
	fd := int(a.stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	fmt.Fprint(a.stderr, text)
	secret, err := unless(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if ctx.Err() != nil {
		_ = term.Restore(fd, before)
	}
	fmt.Fprintln(a.stderr)
	return strings.TrimSpace(string(secret)), err
}

// readAll reads a file named on the command line; - is standard input.
func (a *app) readAll(ctx context.Context, name string) ([]byte, error) {
	if name == "-" {
		return unless(ctx, func() ([]byte, error) { return io.ReadAll(a.stdin) })
	}
	return os.ReadFile(name)
}

// unless reads from a person or a pipe, unless ctx ends first: Ctrl-C must not wait for
// a key. The reader may then be left waiting; the end of the program ends it.
func unless[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	got := make(chan result, 1)
	go func() {
		v, err := read()
		got <- result{v, err}
	}()
	select {
	case r := <-got:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
