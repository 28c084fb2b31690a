package mcp

import (
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A ToolError is a failure to show to the model, as a result with IsError set.
type ToolError struct {
	Text string
	// Structured, if not nil, becomes the structured content.
	Structured any
	// Err is what the error wraps. It is not shown.
	Err error
}

func (e *ToolError) Error() string { return e.Text }

func (e *ToolError) Unwrap() error { return e.Err }

// Errorf returns a *ToolError with a formatted text. With the verb %w it wraps
// errors, whose texts are shown to the model: errors.Is and errors.As find them.
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	e := &ToolError{Text: err.Error()}
	switch err.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		e.Err = err
	}
	return e
}

// Err returns the error of a call that failed, or nil. In middleware it is the
// error that the tool's handler returned, which may hold what the client is not
// shown. In a client it is a *ToolError.
func (r *ToolResult) Err() error {
	switch {
	case r.err != nil:
		return r.err
	case !r.IsError:
		return nil
	}
	e := &ToolError{Text: r.Text()}
	if r.StructuredContent != nil {
		e.Structured = r.StructuredContent
	}
	return e
}

// protocolError returns the *jsonrpc.Error in err, unless it is what a *ToolError
// wraps.
func protocolError(err error) (*jsonrpc.Error, bool) {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return nil, false
	}
	if t, isTool := errors.AsType[*ToolError](err); isTool {
		if inner, _ := errors.AsType[*jsonrpc.Error](t.Err); inner == e {
			return nil, false
		}
	}
	return e, true
}
