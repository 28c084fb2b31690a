package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/go-json-experiment/json"
)

// Exit codes. They are a promise: scripts look at them.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitDenied      = 4
	exitToolError   = 5 // for commands that call a tool
	exitConflict    = 6
	exitNothing     = 7
	exitUnavailable = 8
)

var exitNames = map[int]string{
	exitFailure: "failure", exitUsage: "usage", exitNotFound: "not_found", exitDenied: "not_allowed", exitToolError: "tool_error",
	exitConflict: "conflict", exitNothing: "nothing_to_do", exitUnavailable: "unavailable",
}

// A failure is an error with its exit code, if err does not tell, and what to do
// next.
type failure struct {
	code int
	err  error
	next string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is an error in how the command was typed.
func usage(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// failf is an error with its code and advice.
func failf(code int, next, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...), next: next}
}

// hint adds advice to an error.
func hint(err error, next string) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*failure](err); ok {
		if f.next != "" {
			return err
		}
		return &failure{code: f.code, err: err, next: next}
	}
	return &failure{err: err, next: next}
}

// fail says what went wrong and gives the exit code.
func (a *app) fail(err error) int {
	if err == nil || a.unread(err) {
		return exitOK
	}
	code := exitCode(err)
	next := ""
	if f, ok := errors.AsType[*failure](err); ok {
		next = f.next
	} else if np, ok := errors.AsType[*noPlaceError](err); ok {
		next = np.next()
	}
	if !a.begun && code == exitFailure {
		code = exitUsage
	}
	if next == "" {
		next = a.advice(err, code)
	}
	if errors.Is(err, context.Canceled) {
		err, next = errors.New("interrupted"), ""
	}
	text := plain(err.Error())
	if a.flags.json {
		out, _ := json.Marshal(errorJSON{Error: failureJSON{Code: code, Kind: exitNames[code], Message: text, Next: next}})
		fmt.Fprintf(a.stderr, "%s\n", escaped(out))
		return code
	}
	fmt.Fprintf(a.stderr, "bossman: %s\n", under(text))
	if next != "" {
		fmt.Fprintf(a.stderr, "  next: %s\n", under(plain(next)))
	}
	return code
}

// unread reports whether an error is that nobody reads our output any more, as with
// | head. The end of any other pipe is an error like others.
func (a *app) unread(err error) bool {
	pe, ok := errors.AsType[*fs.PathError](err)
	return ok && pe.Path == a.stdout.Name() && errors.Is(pe, syscall.EPIPE)
}

// longestError is how much of an error's text is shown: some of it may be a server's.
const longestError = 4000

// under is a text whose further lines stand below the first, so that none of them
// looks like a line of our own.
func under(text string) string {
	if len(text) > longestError {
		text = strings.ToValidUTF8(text[:longestError], "") + "…"
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

type errorJSON struct {
	Error failureJSON `json:"error"`
}

type failureJSON struct {
	Code    int    `json:"code"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Next    string `json:"next,omitzero"`
}

// exitCode is the table of errors and codes.
func exitCode(err error) int {
	if f, ok := errors.AsType[*failure](err); ok && f.code != 0 {
		return f.code
	}
	if _, ok := errors.AsType[*board.Nothing](err); ok {
		return exitNothing
	}
	if _, ok := errors.AsType[*noPlaceError](err); ok {
		return exitNotFound
	}
	switch {
	case errors.Is(err, board.ErrNotFound), errors.Is(err, auth.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	case errors.Is(err, board.ErrInvalid), errors.Is(err, auth.ErrInvalid):
		return exitUsage
	case errors.Is(err, board.ErrDenied), errors.Is(err, fs.ErrPermission):
		return exitDenied
	case errors.Is(err, board.ErrConflict), errors.Is(err, auth.ErrConflict), errors.Is(err, board.ErrLeaseLost):
		return exitConflict
	case errors.Is(err, board.ErrUnavailable), errors.Is(err, board.ErrUnknown), errors.Is(err, board.ErrTooNew),
		errors.Is(err, context.DeadlineExceeded):
		return exitUnavailable
	}
	return exitFailure
}

func (a *app) advice(err error, code int) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "look who may read and write there; nothing was changed"
	case errors.Is(err, board.ErrUnknown):
		return "look whether it happened, with bossman status, before you repeat it"
	case errors.Is(err, board.ErrUnavailable):
		return "nothing was changed; try again"
	case code == exitUsage:
		return cmp.Or(a.command, "bossman") + " --help"
	}
	return ""
}
