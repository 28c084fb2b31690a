package mcp

import (
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// The codes that the protocol adds to JSON-RPC's.
const (
	CodeHeaderMismatch     = -32020 // an HTTP header and the body disagree
	CodeMissingCapability  = -32021 // the client lacks what the request needs
	CodeUnsupportedVersion = -32022 // the request names a revision we do not speak
)

var (
	// ErrNotFound means there is no such thing, or not for this principal. Each
	// revision has its own code for it.
	ErrNotFound = errors.New("not found")
	// ErrDeclined means the person said no.
	ErrDeclined = errors.New("declined by the user")
	// ErrDismissed means the person closed the question without an answer.
	ErrDismissed = errors.New("dismissed by the user")
	// ErrWithdrawn means the question was taken back before there was an answer.
	ErrWithdrawn = errors.New("withdrawn before there was an answer")
)

func invalid(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
}

func unknownMethod(method string) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q not found", method)
}

// UnsupportedVersion is the answer to a request of a revision that we do not
// speak. It tells which ones we do.
func UnsupportedVersion(requested string) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeUnsupportedVersion, "protocol version %q is not supported", requested).
		With(map[string]any{"supported": supportedVersions(), "requested": requested})
}

// missing tells which capability the request needs, in the form a client would
// declare it.
func missing(required ClientCapabilities) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeMissingCapability, "the client lacks a capability that this request needs").
		With(map[string]any{"requiredCapabilities": required})
}

// ErrorCode is the JSON-RPC code that a client is told for an error of a handler's;
// 0 for nil. Of a request that was given up the client may hear nothing.
func ErrorCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	if errors.Is(err, ErrNotFound) {
		return jsonrpc.CodeInvalidParams
	}
	return jsonrpc.CodeInternal
}

// lacks is for a request that needs something which the client has not declared.
// In revisions with a handshake a model is told, where there is one.
func (r *Request) lacks(what string, required ClientCapabilities) error {
	if r.Revision.Stateless() {
		return missing(required)
	}
	why := "this client does not support " + what + ", which the request needs"
	if r.Method == "tools/call" {
		return &ToolError{Text: why}
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", why)
}

// plainError says where a JSON value did not fit. The JSON package's own text
// differs from one run to the next, on purpose.
func plainError(err error) string {
	e, ok := errors.AsType[*jsonv2.SemanticError](err)
	if !ok {
		return "not valid JSON"
	}
	where := string(e.JSONPointer)
	if where == "" {
		where = "the value"
	}
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", where, e.Err)
	}
	kind := "this value"
	switch e.JSONKind {
	case '"':
		kind = "a string"
	case '0':
		kind = "a number"
	case 't', 'f':
		kind = "a boolean"
	case 'n':
		kind = "null"
	case '{':
		kind = "an object"
	case '[':
		kind = "an array"
	}
	return fmt.Sprintf("%s: %s does not fit", where, kind)
}
