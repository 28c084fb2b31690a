package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// sentParams are the params that the client sent, as far as something else must
// match them: its headers, and the state of its earlier rounds.
type sentParams struct {
	name           string
	hasName        bool
	arguments, uri json.RawMessage
}

// asSent returns what the client sent, also if middleware has replaced it.
func (r *Request) asSent() sentParams {
	if r.meta.sent != nil {
		return *r.meta.sent
	}
	return sentParams{r.name, r.hasName, r.args(), r.param("uri")}
}

// Params returns the params, an object, or nil. They may be kept and must not be
// modified.
func (r *Request) Params() json.RawMessage {
	if !r.keep() {
		return nil
	}
	return r.params
}

// SetParams replaces the params by another object. Headers and sealed state are
// still compared with what the client sent.
func (r *Request) SetParams(params json.RawMessage) error {
	params, err := objectText("params", params)
	if err != nil {
		return err
	}
	if !r.keep() {
		return errRequestEnded
	}
	if r.meta == nil { // a Request that was made by hand
		r.params = params
		r.parse()
		return nil
	}
	if r.meta.sent == nil {
		m := *r.meta // it may be shared
		m.sent = new(r.asSent())
		r.meta = &m
	}
	r.params, r.name, r.hasName, r.arguments, r.isRetry = params, "", false, part{}, false
	r.parseParams()
	return nil
}

// Arguments returns the arguments of tools/call or prompts/get, an object, or nil.
// They must not be modified.
func (r *Request) Arguments() json.RawMessage {
	if !r.hasArguments() || !r.keep() {
		return nil
	}
	args := r.args()
	if len(args) == 0 || args[0] == 'n' {
		return nil
	}
	return args
}

// SetArguments replaces the arguments of tools/call or prompts/get by another
// object. They are checked against the tool's schema.
func (r *Request) SetArguments(args json.RawMessage) error {
	if !r.hasArguments() {
		return fmt.Errorf("mcp: a request %s has no arguments", r.Method)
	}
	args, err := objectText("arguments", args)
	if err != nil {
		return err
	}
	params := r.Params()
	if params == nil {
		params = json.RawMessage("{}")
	}
	return r.SetParams(replaceMembers(params, []string{"arguments"}, map[string]any{"arguments": args}))
}

func (r *Request) hasArguments() bool { return r.Method == "tools/call" || r.Method == "prompts/get" }

// objectText checks that text is a JSON object.
func objectText(what string, text json.RawMessage) (json.RawMessage, error) {
	if v := jsontext.Value(text); v.Kind() != '{' || !v.IsValid() {
		return nil, fmt.Errorf("mcp: %s must be a JSON object", what)
	}
	return bytes.TrimSpace(text), nil
}
