package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"
)

// A Call is one call of a tool, prompt, resource or completion handler. If the
// handler asks the user, it runs several times for one request; see Ask.
//
// A goroutine that continues after the handler has returned keeps what it got from
// the Call before. Arguments, URI and Meta may return nothing from then on.
type Call struct {
	// Request is the request, as middleware has left it.
	Request *Request

	ctx    context.Context
	tool   *tool           // of tools/call
	args   json.RawMessage // of tools/call and prompts/get
	vars   map[string]string
	inTask bool // the handler runs as a task

	becameTask bool    // the call continues as a task, with another Call; guarded by mu, like the following
	asked      bool    // a question has no answer in this run
	reported   bool    // progress was reported
	rounds     *rounds // nil if there were none
	mu         sync.Mutex
	progress   float64
}

// Principal returns the caller on whose behalf the call runs.
func (c *Call) Principal() Principal { return c.Request.Principal }

// ClientCapabilities returns the capabilities that the client declared for this request.
func (c *Call) ClientCapabilities() ClientCapabilities { return c.Request.Capabilities }

// ClientInfo returns what the client calls itself. It must not be trusted.
func (c *Call) ClientInfo() Implementation { return c.Request.ClientInfo() }

// Arguments returns the arguments, a JSON object, with defaults applied. The caller
// may keep them, and must not modify them.
func (c *Call) Arguments() json.RawMessage {
	if !c.Request.keep() {
		return nil
	}
	return c.args
}

// Argument returns a string argument of a prompt or a variable of a resource
// template, or "" if it was not given.
func (c *Call) Argument(name string) string { return c.vars[name] }

// URI returns the URI of the resource being read.
func (c *Call) URI() string {
	if !c.Request.keep() {
		return ""
	}
	uri, err := text("uri", c.Request.param("uri"))
	if err != nil {
		return ""
	}
	return uri
}

// Revision returns the revision of the request. Handlers rarely need it.
func (c *Call) Revision() Revision { return c.Request.Revision }

// Meta returns a member of the request's _meta, or nil.
func (c *Call) Meta(name string) json.RawMessage { return c.Request.Meta(name) }

// Header returns the first value of an HTTP header of the request, or "" on other
// transports.
func (c *Call) Header(name string) string { return c.Request.Header(name) }

// Progress reports progress to the client, if the client asked for it. A total
// of 0 means unknown. Values that do not increase are dropped.
func (c *Call) Progress(done, total float64, message string) {
	token := c.Request.meta.progressToken
	if token == nil || c.inTask {
		return
	}
	c.mu.Lock()
	if c.reported && done <= c.progress {
		c.mu.Unlock()
		return
	}
	c.reported, c.progress = true, done
	c.mu.Unlock()
	p := progressParams{token, Progress{Progress: done, Total: total}}
	if c.Request.Revision.progressMessage() {
		p.Message = message
	}
	c.notify("notifications/progress", p)
}

// CloseStream closes the connection on which the client waits for the result, if the
// transport and the revision support that. The client reconnects after the
// time retry and receives what it missed. The call continues meanwhile.
func (c *Call) CloseStream(retry time.Duration) {
	if p, ok := c.Request.out.(streamCloser); ok {
		p.CloseStream(retry)
	}
}

// OnLost registers f, to be called after the call if the result could not be delivered: the
// client had disconnected before it was written, and did not fetch it later. Not every transport
// can tell, so a client may have missed the result although f was not called.
func (c *Call) OnLost(f func()) {
	if l, ok := c.Request.out.(loser); ok {
		l.OnLost(f)
	}
}

// Idle releases the call's concurrency slot until resume is called, and lets the
// next Ordered call begin. Use it while waiting for an event. On a pipe, see also
// jsonrpc.Finish, which takes the context of the handler.
func (c *Call) Idle() (resume func()) { return c.Request.Idle() }

// Logger returns a logger that sends messages to the client, at the levels that
// the client asked for.
//
// Deprecated: logging is deprecated by revision 2026-07-28. Log to standard error,
// or report what the user should see with Progress.
func (c *Call) Logger() *slog.Logger { return slog.New(&clientLogHandler{call: c}) }

// notify sends a notification. An error means that the client has disconnected,
// which also ends the call's context.
func (c *Call) notify(method string, params any) {
	if c.ctx.Err() == nil {
		_ = c.Request.out.Notify(c.ctx, method, params)
	}
}
