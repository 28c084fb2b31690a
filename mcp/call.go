package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// A Call is one run of a handler. It may be run several times for one request,
// when it asks the client something; see Ask.
type Call struct {
	ctx    context.Context
	server *Server
	r      *Request
	tool   *tool           // of tools/call
	args   json.RawMessage // of tools/call and prompts/get
	vars   map[string]string
	rounds rounds
	inTask bool // it is the run of a durable call

	mu       sync.Mutex
	over     bool // the call goes on as a task, with a Call of its own
	progress float64
	moved    bool
}

// Principal is whoever the call acts for.
func (c *Call) Principal() Principal { return c.r.Principal }

// Client tells what the client can do, as far as this request goes.
func (c *Call) Client() ClientCapabilities { return c.r.Client }

// ClientInfo is the client's name for itself. It proves nothing.
func (c *Call) ClientInfo() Implementation { return c.r.ClientInfo() }

// Arguments is the raw JSON of the arguments, an object.
func (c *Call) Arguments() json.RawMessage { return c.args }

// Argument is a string argument of a prompt, or a variable of a resource
// template; "" if it was not given.
func (c *Call) Argument(name string) string { return c.vars[name] }

// URI is the resource being read.
func (c *Call) URI() string {
	uri, err := text("uri", c.r.param("uri"))
	if err != nil {
		return ""
	}
	return uri
}

// Progress tells the client how far the call has come, if it wants to know.
// A total of 0 means the end is not known. What does not grow is left out.
func (c *Call) Progress(done, total float64, message string) {
	token := c.r.meta.progressToken
	if token == nil || c.inTask {
		return
	}
	c.mu.Lock()
	if c.moved && done <= c.progress {
		c.mu.Unlock()
		return
	}
	c.moved, c.progress = true, done
	c.mu.Unlock()
	p := ProgressParams{ProgressToken: token, Progress: done, Total: total}
	if c.r.Revision.progressMessage() {
		p.Message = message
	}
	c.notify("notifications/progress", p)
}

// Pause lets go of the connection on which the client waits for the answer, where
// the transport and the revision have that: the client comes back after a while,
// and hears what it has missed. The call goes on meanwhile.
func (c *Call) Pause(after time.Duration) {
	if p, ok := c.r.out.(Pauser); ok {
		p.Pause(after)
	}
}

// Wait says that the call only waits until resume is called, for something to happen:
// others need not wait for it.
func (c *Call) Wait() (resume func()) { return c.r.Wait() }

// Logger writes to the client, as far as it asked for it.
func (c *Call) Logger() *slog.Logger { return slog.New(&clientLog{call: c}) }

// notify sends what the client may miss: an error means that it has gone, which
// the call's context tells as well.
func (c *Call) notify(method string, params any) {
	if c.ctx.Err() == nil {
		_ = c.r.out.Notify(c.ctx, method, params)
	}
}

// clientLog is a slog.Handler that sends records to the client of a call.
type clientLog struct {
	call  *Call
	attrs []slog.Attr
	group string
}

func (l *clientLog) Enabled(_ context.Context, level slog.Level) bool {
	least := l.call.r.LogLevel
	return least != 0 && !l.call.inTask && LogLevelOf(level) >= least
}

func (l *clientLog) Handle(_ context.Context, r slog.Record) error {
	data := map[string]any{}
	for _, a := range l.attrs {
		addAttr(data, a)
	}
	r.Attrs(func(a slog.Attr) bool {
		a.Key = l.group + a.Key
		addAttr(data, a)
		return true
	})
	var v any = r.Message
	if len(data) > 0 {
		data["message"] = r.Message
		v = data
	}
	b, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
	if err != nil {
		return err
	}
	l.call.notify("notifications/message", logParams{Level: LogLevelOf(r.Level), Logger: l.call.server.info.Name, Data: b})
	return nil
}

func addAttr(data map[string]any, a slog.Attr) {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindGroup:
		sub := map[string]any{}
		for _, g := range v.Group() {
			addAttr(sub, g)
		}
		data[a.Key] = sub
	case slog.KindDuration, slog.KindTime:
		data[a.Key] = v.String()
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			data[a.Key] = err.Error()
			return
		}
		data[a.Key] = v.Any()
	default:
		data[a.Key] = v.Any()
	}
}

func (l *clientLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	next.attrs = append([]slog.Attr(nil), l.attrs...)
	for _, a := range attrs {
		a.Key = l.group + a.Key
		next.attrs = append(next.attrs, a)
	}
	return &next
}

func (l *clientLog) WithGroup(name string) slog.Handler {
	next := *l
	next.group = l.group + name + "."
	return &next
}
