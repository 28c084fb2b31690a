package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/visible"
)

// An Error is an error with its exit code and the next step for the person.
type Error struct {
	// Code is 0 if it is not known here: Err may have one.
	Code ExitCode
	Err  error
	// Next is one imperative sentence or a command line; empty if there is none.
	Next string
	// Quoted is set if the text has several lines and those of others are quoted in it already.
	Quoted bool
}

func (e *Error) Error() string      { return e.Err.Error() }
func (e *Error) Unwrap() error      { return e.Err }
func (e *Error) ExitCode() ExitCode { return e.Code }
func (e *Error) NextStep() string   { return e.Next }

// Errorf returns an error with its exit code and next step; next may be empty.
func Errorf(code ExitCode, next, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...), Next: next}
}

// Usagef returns an error in how the command was typed.
func Usagef(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// WithNext adds the next step to err, unless err has one.
func WithNext(err error, next string) error {
	if err == nil || NextOf(err) != "" {
		return err
	}
	return &Error{Code: CodeOf(err), Err: err, Next: next}
}

// CodeOf is the first exit code that err or an error in its chain has, 0 if there is
// none.
func CodeOf(err error) ExitCode {
	for err != nil {
		e, ok := errors.AsType[interface {
			error
			ExitCode() ExitCode
		}](err)
		if !ok {
			return 0
		}
		if code := e.ExitCode(); code != 0 {
			return code
		}
		err = errors.Unwrap(e)
	}
	return 0
}

// NextOf is the first next step that err or an error in its chain has, empty if there is
// none.
func NextOf(err error) string {
	for err != nil {
		e, ok := errors.AsType[interface {
			error
			NextStep() string
		}](err)
		if !ok {
			return ""
		}
		if next := e.NextStep(); next != "" {
			return next
		}
		err = errors.Unwrap(e)
	}
	return ""
}

// Report writes err to standard error, as JSON if c.JSON is set, and returns the exit
// code. A nil error is OK, and so is one that only says that nobody reads standard
// output any more, as with | head.
func (c *Console) Report(err error) ExitCode {
	if err == nil || c.outputClosed(err) {
		return OK
	}
	code, next := cmp.Or(CodeOf(err), Failure), NextOf(err)
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text, next = "interrupted", ""
	}
	if c.JSON {
		out, _ := json.Marshal(errorJSON{Error: failureJSON{Code: code, Kind: code.String(), Message: text, Next: next}})
		fmt.Fprintf(c.Err, "%s\n", visible.JSON(out))
		return code
	}
	fmt.Fprint(c.Err, errorLines("bossman: "+text, isQuoted(err), c.errWidth()))
	if next != "" {
		fmt.Fprint(c.Err, "  next: "+strings.TrimPrefix(wrap(furtherLine, ErrorText(next), 0), furtherLine)) // a command is not broken
	}
	return code
}

type errorJSON struct {
	Error failureJSON `json:"error"`
}

type failureJSON struct {
	Code    ExitCode `json:"code"`
	Kind    string   `json:"kind"`
	Message string   `json:"message"`
	Next    string   `json:"next,omitzero"`
}

// outputClosed reports whether err is a write to standard output after its reader went
// away. Any other closed pipe is an error like others.
func (c *Console) outputClosed(err error) bool {
	return c.OutputFailed(err) && errors.Is(err, syscall.EPIPE)
}

// OutputFailed reports whether err is a failed write to standard output.
func (c *Console) OutputFailed(err error) bool {
	pe, ok := errors.AsType[*fs.PathError](err)
	return ok && pe.Path == c.stdout.Name()
}

// MaxErrorText is how many bytes of an error's text are shown: some of it may be a
// server's.
const MaxErrorText = 4000

// ErrorText is the text of an error without space around it, and cut to MaxErrorText.
func ErrorText(text string) string {
	if len(text) > MaxErrorText {
		text = strings.ToValidUTF8(text[:MaxErrorText], "") + "…"
	}
	return strings.TrimSpace(text)
}

// isQuoted reports whether err or an error in its chain is Quoted.
func isQuoted(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Quoted || isQuoted(e.Err))
}

// furtherLine stands before all lines of a text but the first, so that none of them looks like a
// line of ours.
const furtherLine = "    " + margin

// errorLines is an error's text as lines that the terminal does not break: the rest would begin
// like a line of ours. Further lines of the text itself may be by others, and stand behind a
// margin, unless they are quoted already.
func errorLines(text string, quoted bool, width int) string {
	const indent = "    "
	first, rest, _ := strings.Cut(visible.Text(ErrorText(text)), "\n")
	out := strings.TrimPrefix(wrap(indent, first, width), indent)
	for line := range strings.Lines(rest) {
		before, text := furtherLine, line
		if own, found := strings.CutPrefix(line, margin); quoted && found {
			text = own
		} else if quoted {
			before = indent
		}
		out += wrap(before, text, width)
	}
	return out
}
