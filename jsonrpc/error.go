package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
)

// The codes that JSON-RPC 2.0 defines.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600 // JSON, but not a request
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// An Error is what an answer carries in place of a result.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitzero"`
}

// Errorf makes an Error with a code and a message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With adds data to the error. Data that cannot be encoded is left out.
func (e *Error) With(data any) *Error {
	if b, err := jsonv2.Marshal(data, jsonv2.Deterministic(true)); err == nil {
		e.Data = b
	}
	return e
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

var (
	// ErrClosed means the conversation is over: the other side left, or we did.
	ErrClosed = errors.New("jsonrpc: closed")
	// ErrCancelled is the cause of a request's context when the peer has taken
	// the request back. No answer is sent.
	ErrCancelled = errors.New("jsonrpc: cancelled by the peer")
	// ErrStalled means the other side stopped reading what we write.
	ErrStalled = errors.New("jsonrpc: the peer does not read")
	// ErrTooLong means a line went on far beyond the limit without an end.
	ErrTooLong = errors.New("jsonrpc: endless line")
)

// Malformed is what Receive returns for bytes that are no message. It is not
// final: the next Receive goes on after them.
type Malformed struct {
	Err    *Error
	ID     ID   // the id to answer to, if one could be read
	Silent bool // it was an answer or a notification: nobody waits for a reply

	bare bool // no method, no result, no error: it may be either half of an exchange
}

func (m *Malformed) Error() string { return "jsonrpc: refused: " + m.Err.Message }

// asError finds the *Error in err, or makes an internal one that tells nothing.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e
	}
	return Errorf(CodeInternal, "internal error")
}
