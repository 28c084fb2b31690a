package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
)

// Error codes defined by JSON-RPC 2.0.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600 // JSON, but not a valid request
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// An Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitzero"`
}

// Errorf returns an Error with a code and a formatted message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With sets the data of e and returns e. Data that cannot be encoded is
// omitted.
func (e *Error) With(data any) *Error {
	if b, err := jsonv2.Marshal(data, jsonv2.Deterministic(true)); err == nil {
		e.Data = b
	}
	return e
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

var (
	// ErrClosed means that the connection was closed, by either end.
	ErrClosed = errors.New("jsonrpc: closed")
	// ErrCancelled is the cause of a request's context after Peer.Cancel. No
	// response is sent.
	ErrCancelled = errors.New("jsonrpc: cancelled by the peer")
	// ErrStalled means that the other end stopped reading.
	ErrStalled = errors.New("jsonrpc: the other end stopped reading")
	// ErrTooLong means that a line is so far over the limit that the rest was
	// not skipped.
	ErrTooLong = errors.New("jsonrpc: line too long")
)

// Malformed is the error of Receive for input that is not a valid message. It
// is not final: the next Receive continues after that input.
type Malformed struct {
	Err    *Error
	ID     ID   // id of the message, if it could be read
	Silent bool // it was a response or a notification, so no error response is sent

	bare bool // no method, result or error: it may be a request or a response
}

func (m *Malformed) Error() string { return "jsonrpc: malformed message: " + m.Err.Message }

// malformed returns the error for input that is not a valid message. Its text
// begins with the name that JSON-RPC 2.0 gives to the code.
func malformed(code int, why string) *Error {
	name := "Invalid Request"
	switch code {
	case CodeParse:
		name = "Parse error"
	case CodeMethodNotFound:
		name = "Method not found"
	}
	return &Error{Code: code, Message: name + ": " + why}
}

// asError returns the *Error in err, or an internal error without details.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e
	}
	return Errorf(CodeInternal, "Internal error")
}
