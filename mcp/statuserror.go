package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A StatusError is an HTTP response that refused a request.
type StatusError struct {
	Code   int // HTTP status
	Header map[string][]string
	Body   []byte         // beginning of the body
	Err    *jsonrpc.Error // the JSON-RPC error in the body, if any
}

func (e *StatusError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("HTTP status %d: %v", e.Code, e.Err)
	}
	return fmt.Sprintf("HTTP status %d: %.200q", e.Code, bytes.TrimSpace(e.Body))
}

func (e *StatusError) Unwrap() error {
	if e.Err == nil {
		return nil
	}
	return e.Err
}

func isStatus(err error, code int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Code == code
}

// isAuthError reports whether the server requires authentication or
// authorization, which says nothing about its era.
func isAuthError(err error) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && (e.Code == 401 || e.Code == 403)
}

// isUnreachable reports whether the server could not be reached at all.
func isUnreachable(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}
