package mcp

import (
	"context"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Principal is the caller on whose behalf a request runs. On a pipe its ID is
// "local".
type Principal struct {
	ID    string
	Value any // for the program's own authentication
	// Rights names what the principal may do, for programs in which that differs
	// between the requests of one ID: after a change, or with another token. See
	// Holder.
	Rights string
	// Owner is whom limits of concurrent use are counted for, so that several
	// principals of one owner get no more than one. Default: ID.
	Owner string
	// Revoked is closed when the principal loses access, or some of its rights.
	// Its calls are then cancelled, durable ones too, and its streams end within
	// a second. Nil means never.
	Revoked <-chan struct{}
}

// Holder is whom what a request leaves for later ones belongs to: a session, a
// task, a question that is open. A request of the same principal with other
// rights does not find them, so it can do nothing through them that it may not
// do itself.
func (p *Principal) Holder() string {
	if p.Rights == "" {
		return p.ID
	}
	return p.ID + "\n" + p.Rights
}

// A Request is a request from a client, after revision, capabilities and
// principal were determined. Nothing else that a handler sees depends on the
// transport or the era.
type Request struct {
	ID        jsonrpc.ID
	Method    string
	Params    json.RawMessage // an object, or nil
	Revision  Revision
	LogLevel  LogLevel // minimum level of log messages to send; zero means none
	Client    ClientCapabilities
	Principal Principal

	// Every call has a Request, so rarely needed data is behind pointers.
	fields  paramFields
	meta    *requestMeta // set by parse
	out     Sink
	session *Session        // nil without a handshake
	server  *Server         // set by Handle
	pipeCtx context.Context // of the request on a pipe, for Wait
}

// ClientInfo returns what the client calls itself. It is for display only and
// must not be trusted.
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

// SessionID identifies the session of the request, in all replicas. It is empty without a
// handshake, and where the session is the connection, as on a pipe.
func (r *Request) SessionID() string {
	if r.session == nil {
		return ""
	}
	if s, ok := r.session.state.(interface{ ID() string }); ok {
		return s.ID()
	}
	return ""
}

// Wait releases the request's concurrency slot until resume is called, and lets
// the next Ordered call begin. Use it while waiting for an event.
func (r *Request) Wait() (resume func()) {
	if r.pipeCtx != nil {
		return jsonrpc.Yield(r.pipeCtx)
	}
	if w, ok := r.out.(Waiter); ok {
		return w.Wait()
	}
	return func() {}
}

// Finish lets the request run to its end on a pipe whose client has stopped
// sending, as long as somebody can read the result; other requests get a few
// seconds then. The handler must bound its time by itself. The returned channel is
// closed when the client has stopped sending, so that it will not repeat the
// request. It is nil if the transport is not a pipe.
func (r *Request) Finish() (eof <-chan struct{}) {
	if r.pipeCtx == nil {
		return nil
	}
	return jsonrpc.Finish(r.pipeCtx)
}

// A Result is the result of a request: one of the result types of this package,
// or any value that encodes to a JSON object.
type Result any

// A Handler handles a request. An error that is not a *jsonrpc.Error is logged
// and not shown to the client.
type Handler func(ctx context.Context, r *Request) (Result, error)

// paramFields holds the members of params that frequent methods use, found in
// one pass.
type paramFields struct {
	name, arguments json.RawMessage
	isRetry         bool // it has requestState or inputResponses
}

// parse finds the fields and the _meta in the params.
func (r *Request) parse() {
	r.meta = &noMeta
	for name, v := range jsonrpc.Members(r.Params) {
		switch name {
		case "_meta":
			m := parseMeta(v)
			r.meta = &m
		case "name":
			r.fields.name = v
		case "arguments":
			r.fields.arguments = v
		case "requestState", "inputResponses":
			r.fields.isRetry = true
		}
	}
}

// param returns another member of params, or nil.
func (r *Request) param(name string) json.RawMessage { return member(r.Params, name) }

// cursor returns the cursor of a list request, or nil.
func (r *Request) cursor() json.RawMessage {
	c := r.param("cursor")
	if r.session != nil && r.session.alone {
		if _, err := parseCursor(c); err != nil {
			return nil
		}
	}
	return c
}

// noMeta is shared by the many requests without _meta. It must not be modified.
var noMeta requestMeta

// requestMeta holds the _meta of a request, in either era.
type requestMeta struct {
	version, capabilities, info, logLevel, progressToken json.RawMessage

	headers Headers // to compare arguments with; may be nil
}

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

func parseMeta(meta json.RawMessage) (m requestMeta) {
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
			// Ignore a token that is neither a string nor an integer, or too
			// long to be repeated with each notification.
			if _, err := jsonrpc.ParseID(v); err == nil {
				m.progressToken = v
			}
		}
	}
	return m
}

// text decodes a member that must be a string.
func text(name string, v json.RawMessage) (string, error) {
	if len(v) == 0 || v[0] != '"' {
		return "", invalid("%s must be a string", name)
	}
	return jsonrpc.Text(v), nil
}

// object decodes a member that must be an object into v.
func object(name string, raw json.RawMessage, v any) error {
	if len(raw) == 0 || raw[0] != '{' {
		return invalid("%s must be an object", name)
	}
	if err := jsonv2.Unmarshal(raw, v); err != nil {
		return invalid("%s: %s", name, plainError(err))
	}
	return nil
}

// Meta returns a member of the request's _meta as JSON, or nil.
func (r *Request) Meta(name string) json.RawMessage {
	if r.meta == &noMeta {
		return nil
	}
	return member(r.param("_meta"), name)
}
