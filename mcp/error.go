package mcp

import (
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Error codes that the protocol adds to those of JSON-RPC.
const (
	CodeHeaderMismatch     = -32020 // an HTTP header does not match the body
	CodeMissingCapability  = -32021 // the client lacks a required capability
	CodeUnsupportedVersion = -32022 // the request names an unsupported revision
)

var (
	// ErrNotFound means that an item does not exist or is not visible to the
	// principal. Each revision has its own code for it.
	ErrNotFound = errors.New("not found")
	// ErrDeclined means that the user declined.
	ErrDeclined = errors.New("declined by the user")
	// ErrDismissed means that the user closed the question without answering.
	ErrDismissed = errors.New("dismissed by the user")
	// ErrWithdrawn means that the question was withdrawn before it was
	// answered, or that its form cannot be used and nobody was asked.
	ErrWithdrawn = errors.New("withdrawn before it was answered")
)

func invalid(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
}

func unknownMethod(method string) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", method)
}

// unsupportedVersion returns the error for a request of an unsupported
// revision. Its data lists the supported ones.
func unsupportedVersion(requested string) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeUnsupportedVersion, "protocol version %q is not supported", requested).
		With(map[string]any{"supported": supportedVersions(), "requested": requested})
}

// missingCapability returns the error for a request that requires capabilities
// which the client did not declare.
func missingCapability(required ClientCapabilities) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeMissingCapability, "the client lacks a capability that this request needs").
		With(map[string]any{"requiredCapabilities": required})
}

// errorCode returns the JSON-RPC code that the client gets for a handler's
// error, or 0 for nil. There may be no response if the request was cancelled.
func errorCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := protocolError(err); ok {
		return e.Code
	}
	if errors.Is(err, ErrNotFound) {
		return jsonrpc.CodeInvalidParams
	}
	return jsonrpc.CodeInternal
}

// capabilityError returns the error for a request that requires an undeclared
// capability. In revisions with a handshake a tool's error is shown to the
// model.
func (r *Request) capabilityError(what string, required ClientCapabilities) error {
	if r.Revision.Stateless() {
		return missingCapability(required)
	}
	why := "this client does not support " + what + ", which the request needs"
	if r.Method == "tools/call" {
		return &ToolError{Text: why}
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", why)
}

// plainError describes where a JSON value does not match its Go type. The text
// of the JSON package varies between runs, deliberately.
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
	kind := "value"
	switch e.JSONKind {
	case '"':
		kind = "string"
	case '0':
		kind = "number"
	case 't', 'f':
		kind = "boolean"
	case 'n':
		kind = "null"
	case '{':
		kind = "object"
	case '[':
		kind = "array"
	}
	return fmt.Sprintf("%s: wrong type: got %s", where, kind)
}
