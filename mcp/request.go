package mcp

import (
	"context"
	"encoding/json"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Principal is whoever a request acts for. On a pipe it is "local".
type Principal struct {
	ID     string
	Scopes []string
	Value  any // whatever the program's own authentication knows
	// Revoked is closed when the principal may do nothing more: its calls are
	// cancelled and its streams end within a second. Nil: it never is.
	Revoked <-chan struct{}
}

// A Request is one request of a client's, after the door: who asks, in which
// revision, with which capabilities is settled. Nothing else that a handler
// sees depends on the transport or the era.
type Request struct {
	ID        jsonrpc.ID
	Method    string
	Params    json.RawMessage // an object, or nil
	Revision  Revision
	LogLevel  LogLevel // the least serious message to send; zero is none
	Client    ClientCapabilities
	Principal Principal

	// Every call has one of these, so what few requests need is behind pointers.
	fields  fields
	meta    *requestMeta // after read
	out     Sink
	session *Session // nil without a handshake
	server  *Server  // after Handle has begun
}

// ClientInfo is the client's name for itself. It is for people to read, and
// proves nothing.
func (r *Request) ClientInfo() Implementation {
	if r.session != nil {
		return r.session.info
	}
	var info Implementation
	if r.meta.info == nil || jsonv2.Unmarshal(r.meta.info, &info) != nil {
		return Implementation{}
	}
	return info
}

// A Sink takes what a request has for its client besides the answer.
type Sink interface {
	// Notify sends a notification that belongs to the request.
	Notify(ctx context.Context, method string, params any) error
	// Call sends a request to the client and waits for its answer. Only
	// revisions with a handshake have it.
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// A Waiter is a Sink whose request takes the place of another as long as it is in
// flight.
type Waiter interface {
	// Wait gives the place back until resume is called.
	Wait() (resume func())
}

// Wait says that the request only waits until resume is called, for something to
// happen: others need not wait for it.
func (r *Request) Wait() (resume func()) {
	if w, ok := r.out.(Waiter); ok {
		return w.Wait()
	}
	return func() {}
}

// A Pauser is a Sink that can end its connection before the answer is there,
// since the client will ask for the rest on another one.
type Pauser interface {
	Pause(after time.Duration)
}

// A Result is the answer to a request: a value of this package's result types,
// or anything that encodes to a JSON object.
type Result any

// A Handler answers a request. An error that is not a *jsonrpc.Error is told to
// the log, not to the client.
type Handler func(ctx context.Context, r *Request) (Result, error)

// fields are the members of params that the frequent methods have, found in one
// pass.
type fields struct {
	name, arguments json.RawMessage
	again           bool // there is a requestState, or there are inputResponses
}

// read finds the fields and the _meta of a request's params.
func (r *Request) read() {
	r.meta = &noMeta
	for name, v := range jsonrpc.Members(r.Params) {
		switch name {
		case "_meta":
			m := readMeta(v)
			r.meta = &m
		case "name":
			r.fields.name = v
		case "arguments":
			r.fields.arguments = v
		case "requestState", "inputResponses":
			r.fields.again = true
		}
	}
}

// param finds any other member of params; nil if it is not there.
func (r *Request) param(name string) json.RawMessage { return member(r.Params, name) }

// noMeta is for the many requests that have none: it is not written to.
var noMeta requestMeta

// requestMeta is what a request's _meta says, in either era.
type requestMeta struct {
	version, capabilities, info, logLevel, progressToken json.RawMessage

	headers Headers // to compare arguments with; nil if there are none
}

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

func readMeta(meta json.RawMessage) (m requestMeta) {
	for name, v := range jsonrpc.Members(meta) {
		switch name {
		case metaVersion:
			m.version = v
		case metaCapabilities:
			m.capabilities = v
		case metaClientInfo:
			m.info = v
		case metaLogLevel:
			m.logLevel = v
		case "progressToken":
			// What is neither a string nor an integer is ignored, as is one too long
			// to be sent back again and again.
			if _, err := jsonrpc.ParseID(v); err == nil {
				m.progressToken = v
			}
		}
	}
	return m
}

// text reads a member that must be a string.
func text(name string, v json.RawMessage) (string, error) {
	if len(v) == 0 || v[0] != '"' {
		return "", invalid("%s must be a string", name)
	}
	return jsonrpc.Text(v), nil
}

// object reads a member that must be an object, into v.
func object(name string, raw json.RawMessage, v any) error {
	if len(raw) == 0 || raw[0] != '{' {
		return invalid("%s must be an object", name)
	}
	if err := jsonv2.Unmarshal(raw, v); err != nil {
		return invalid("%s: %s", name, plainError(err))
	}
	return nil
}
