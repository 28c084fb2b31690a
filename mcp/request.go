package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// A Principal is the caller on whose behalf a request runs. On a pipe its ID is
// "local".
type Principal struct {
	ID    string
	Value any // for the program's own authentication
	// Rights names what the principal may do, for programs in which that differs
	// between requests of one ID: after a change, or with another token. Sessions,
	// tasks and open questions belong to an ID and its rights: a request of the
	// same ID with other rights does not find them.
	Rights string
	// Owner is counted by limits of concurrent use: all principals of an owner
	// share them. Default: ID.
	Owner string
	// Revoked is closed when the principal loses access, or some of its rights.
	// Its calls and tasks are then cancelled, and its streams end within a second.
	// Nil means never.
	Revoked <-chan struct{}
}

// holder is transport.Holder.
func (p *Principal) holder() string { return link.Holder(p.ID, p.Rights) }

// A Request is a request from a client. Its revision, capabilities and principal are
// known, so handlers need not know the transport, or whether there was a handshake.
// After the response, methods that return parts of the message return nothing,
// unless one of them was called before.
type Request struct {
	ID           jsonrpc.ID
	Method       string
	Revision     Revision
	logLevel     logLevel // minimum level of log messages to send; zero means none
	hasName      bool     // params have a name, which is a string
	isRetry      bool     // they have requestState or inputResponses
	memory       memory
	Capabilities ClientCapabilities
	Principal    Principal

	// Every call has a Request, so it is kept small: rarely needed data is behind
	// pointers, and it takes 256 bytes.
	params    json.RawMessage // an object, or nil
	name      string          // see hasName; it does not share the memory of params
	arguments part            // of params; empty if there are none
	meta      *requestMeta    // set by parse
	origin    any             // link.Headers, the context.Context of a request on a pipe, or nil
	out       link.Sink
	session   *session // nil without a handshake
	server    *Server  // set by Handle
}

// A part locates a part of a text. It is a third of the size of a slice.
type part struct{ from, to uint32 }

// partOf returns where p is, which is a slice of text.
func partOf(text, p []byte) part {
	from := cap(text) - cap(p)
	return part{uint32(from), uint32(from + len(p))}
}

// of returns the part of the text, or nil if it is empty.
func (p part) of(text json.RawMessage) json.RawMessage {
	if p.to == 0 {
		return nil
	}
	return text[p.from:p.to:p.to]
}

// args returns the arguments as they are in the params, or nil.
func (r *Request) args() json.RawMessage { return r.arguments.of(r.params) }

// headers returns the headers of the request, or nil.
func (r *Request) headers() link.Headers {
	h, _ := r.origin.(link.Headers)
	return h
}

// ClientInfo returns what the client calls itself. It is for display only and
// must not be trusted.
func (r *Request) ClientInfo() Implementation {
	if r.session != nil {
		return r.session.info
	}
	var info Implementation
	if raw := r.meta.part(r.meta.info); raw == nil || !r.keep() || jsonv2.Unmarshal(raw, &info) != nil {
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

// Idle releases the request's concurrency slot until resume is called, and lets
// the next Ordered call begin. Use it while waiting for an event.
func (r *Request) Idle() (resume func()) {
	if ctx, ok := r.origin.(context.Context); ok {
		return jsonrpc.Yield(ctx)
	}
	if w, ok := r.out.(idler); ok {
		return w.Idle()
	}
	return func() {}
}

// A Result is the result of a request: a pointer to a result type of this package,
// such as *ToolResult, *ListResult[Tool] or *InputRequired, or any value that
// encodes to a JSON object.
type Result any

// A Handler handles a request. A *jsonrpc.Error is sent as it is. Of an error with
// a text for the client, such as a *ToolError or ErrNotFound, the text is sent. Any
// other error is logged, and the client gets a reference to the log entry. To
// refuse a tool call in a way that the model sees, return a *ToolResult with IsError
// set.
type Handler func(ctx context.Context, r *Request) (Result, error)

// parse finds the members of params that frequent methods use, and those of _meta.
func (r *Request) parse() {
	r.meta = &noMeta
	if meta := r.parseParams(); meta != nil {
		m := parseMeta(meta)
		r.meta = &m
	}
}

// parseParams finds the members of params that frequent methods use. It returns
// the _meta, or nil.
func (r *Request) parseParams() (meta json.RawMessage) {
	for name, v := range rawjson.Members(r.params) {
		switch name {
		case "name":
			if r.hasName = v[0] == '"'; r.hasName {
				r.name = rawjson.Text(v)
			}
		case "arguments":
			r.arguments = partOf(r.params, v)
		case "requestState", "inputResponses":
			r.isRetry = true
		case "_meta":
			meta = v
		}
	}
	return meta
}

// nameParam returns the name of what the request is about.
func (r *Request) nameParam() (string, error) {
	if !r.hasName {
		return "", invalid("name must be a string")
	}
	return r.name, nil
}

// param returns another member of params, or nil.
func (r *Request) param(name string) json.RawMessage { return member(r.params, name) }

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
	text                                  json.RawMessage
	version, capabilities, info, logLevel part            // of text
	progressToken                         json.RawMessage // does not share the memory of text

	sent         *sentParams // if middleware has replaced the params
	checkHeaders bool        // arguments must match the headers
}

func (m *requestMeta) part(p part) json.RawMessage { return p.of(m.text) }

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

func parseMeta(meta json.RawMessage) (m requestMeta) {
	m.text = meta
	for name, v := range rawjson.Members(meta) {
		switch name {
		case metaVersion:
			m.version = partOf(meta, v)
		case metaCapabilities:
			m.capabilities = partOf(meta, v)
		case metaClientInfo:
			m.info = partOf(meta, v)
		case metaLogLevel:
			m.logLevel = partOf(meta, v)
		case "progressToken":
			// Ignore a token that is neither a string nor an integer, or too
			// long to be repeated with each notification.
			if _, err := jsonrpc.ParseID(v); err == nil {
				m.progressToken = bytes.Clone(v)
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
	return rawjson.Text(v), nil
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

// Header returns the first value of an HTTP header of the request, or "". Other
// transports have no headers.
func (r *Request) Header(name string) string {
	h := r.headers()
	if h == nil {
		return ""
	}
	if values := h.Values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Meta returns a member of the request's _meta as JSON, or nil.
func (r *Request) Meta(name string) json.RawMessage {
	if r.meta == &noMeta || !r.keep() {
		return nil
	}
	return member(r.param("_meta"), name)
}
