package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Call is one call of a tool, prompt, resource or completion handler. If the
// handler asks the user, it runs several times for one request; see Ask.
type Call struct {
	ctx    context.Context
	server *Server
	r      *Request
	tool   *tool           // of tools/call
	args   json.RawMessage // of tools/call and prompts/get
	vars   map[string]string
	rounds rounds
	inTask bool // the handler runs as a durable call

	mu         sync.Mutex
	becameTask bool // the call continues as a task, with another Call
	progress   float64
	reported   bool
}

// Principal returns the caller on whose behalf the call runs.
func (c *Call) Principal() Principal { return c.r.Principal }

// ID is the JSON-RPC id of the request, and SessionID that of its session; see
// Request.SessionID.
func (c *Call) ID() jsonrpc.ID    { return c.r.ID }
func (c *Call) SessionID() string { return c.r.SessionID() }

// Client returns the capabilities that the client declared for this request.
func (c *Call) Client() ClientCapabilities { return c.r.Client }

// ClientInfo returns what the client calls itself. It must not be trusted.
func (c *Call) ClientInfo() Implementation { return c.r.ClientInfo() }

// Arguments returns the arguments, a JSON object.
func (c *Call) Arguments() json.RawMessage { return c.args }

// Argument returns a string argument of a prompt or a variable of a resource
// template, or "" if it was not given.
func (c *Call) Argument(name string) string { return c.vars[name] }

// URI returns the URI of the resource being read.
func (c *Call) URI() string {
	uri, err := text("uri", c.r.param("uri"))
	if err != nil {
		return ""
	}
	return uri
}

// Progress reports progress to the client, if the client asked for it. A total
// of 0 means unknown. Values that do not increase are dropped.
func (c *Call) Progress(done, total float64, message string) {
	token := c.r.meta.progressToken
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
	p := ProgressParams{ProgressToken: token, Progress: done, Total: total}
	if c.r.Revision.progressMessage() {
		p.Message = message
	}
	c.notify("notifications/progress", p)
}

// Pause closes the connection on which the client waits for the result, if the
// transport and the revision support that. The client reconnects after the
// given time and receives what it missed. The call continues meanwhile.
func (c *Call) Pause(after time.Duration) {
	if p, ok := c.r.out.(Pauser); ok {
		p.Pause(after)
	}
}

// OnLost calls f, after the call, if the client was gone before the result was written, and did
// not fetch it later. Not every transport finds that out. That f is not called does not mean
// that the client has read the result.
func (c *Call) OnLost(f func()) {
	if l, ok := c.r.out.(Loser); ok {
		l.OnLost(f)
	}
}

// Wait releases the call's concurrency slot until resume is called, and lets the
// next Ordered call begin. Use it while waiting for an event.
func (c *Call) Wait() (resume func()) { return c.r.Wait() }

// Finish lets the call run to its end on a pipe whose client has stopped sending;
// see Request.Finish.
func (c *Call) Finish() (eof <-chan struct{}) { return c.r.Finish() }

// Logger returns a logger that sends messages to the client, at the levels that
// the client asked for.
func (c *Call) Logger() *slog.Logger { return slog.New(&clientLogHandler{call: c}) }

// notify sends a notification. An error means that the client has disconnected,
// which also ends the call's context.
func (c *Call) notify(method string, params any) {
	if c.ctx.Err() == nil {
		_ = c.r.out.Notify(c.ctx, method, params)
	}
}
