package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// A redactor changes every text that a server sends: see ClientOptions.Redact.
// nil changes nothing.
type redactor func(text string) string

// message returns a message with its texts changed.
func (f redactor) message(m *jsonrpc.Message) *jsonrpc.Message {
	if f == nil || m == nil {
		return m
	}
	out := *m
	out.Method, out.Params, out.Error = f(m.Method), f.json(m.Params), f.rpcError(m.Error)
	out.Result = f.json(m.Result)
	if m.IsResponse() {
		out.Result = keepOpaque(m.Result, out.Result)
	}
	return &out
}

func (f redactor) rpcError(e *jsonrpc.Error) *jsonrpc.Error {
	if f == nil || e == nil {
		return e
	}
	return &jsonrpc.Error{Code: e.Code, Message: f(e.Message), Data: f.json(e.Data)}
}

// error returns an error of a transport with its texts changed. What errors.As
// finds in it is changed, too.
func (f redactor) error(err error) error {
	if f == nil || err == nil {
		return err
	}
	if s, ok := errors.AsType[*StatusError](err); ok {
		header := map[string][]string{}
		for name, values := range s.Header {
			for _, v := range values {
				header[name] = append(header[name], f(v))
			}
		}
		return &StatusError{Code: s.Code, Header: header, Body: []byte(f(string(s.Body))), Err: f.rpcError(s.Err)}
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return f.rpcError(e)
	}
	if m, ok := errors.AsType[*jsonrpc.Malformed](err); ok {
		changed := *m
		changed.Err = f.rpcError(m.Err)
		return &changed
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return &url.Error{Op: u.Op, URL: f(u.URL), Err: f.error(u.Err)}
	}
	text := err.Error()
	if changed := f(text); changed != text {
		return &redactedError{changed, err}
	}
	return err
}

// A redactedError has another text than the error that it wraps.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

// json returns JSON with the strings changed in it, names of members included.
func (f redactor) json(raw json.RawMessage) json.RawMessage {
	if f == nil {
		return raw
	}
	return rawjson.EditTexts(raw, f)
}

// keepOpaque returns a changed result with those members as they were that only
// the server reads again. They are not shown to anybody.
func keepOpaque(raw, changed json.RawMessage) json.RawMessage {
	if len(raw) == 0 || bytes.Equal(raw, changed) {
		return changed
	}
	kept := map[string]json.RawMessage{}
	for name, v := range rawjson.Members(raw) {
		switch name {
		case "requestState", "nextCursor":
			kept[name] = v
		}
	}
	if len(kept) == 0 {
		return changed
	}
	out, err := editMembers(changed, func(name string, v json.RawMessage) (json.RawMessage, error) {
		if k, ok := kept[name]; ok {
			return k, nil
		}
		return v, nil
	})
	if err != nil {
		return changed
	}
	return out
}

// A redactedTransport changes what a peer receives.
type redactedTransport struct {
	jsonrpc.Transport
	redact redactor
}

func (t *redactedTransport) Receive(ctx context.Context) (jsonrpc.Packet, error) {
	p, err := t.Transport.Receive(ctx)
	p.Message = t.redact.message(p.Message)
	for i, e := range p.Batch {
		p.Batch[i].Message = t.redact.message(e.Message)
	}
	return p, t.redact.error(err)
}
