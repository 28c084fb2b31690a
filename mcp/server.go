package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// ServerOptions are what a server may be given. The zero value is the usual
// choice.
type ServerOptions struct {
	// Instructions tell a model how to use the server.
	Instructions string
	// Logger takes what concerns the server's operator. Nil: slog's default.
	Logger *slog.Logger
	// Observer is told what middleware cannot see.
	Observer Observer
	// Seal keeps what clients carry for us. Nil: a key that ends with the
	// process.
	Seal *Keyring
	// Tasks keeps durable calls. Nil: in memory.
	Tasks TaskStore
	// Bus tells all listeners, also of other replicas, what has changed. Nil:
	// those of this server.
	Bus Bus
	// Visible hides things from some principals. What is hidden is not listed
	// and not found. Names are as for Remove; what a template stands for is asked
	// about by its URI, too.
	Visible func(ctx context.Context, p Principal, kind Kind, name string) bool
	// Complete suggests how an argument of a prompt or a resource template may
	// go on.
	Complete func(ctx context.Context, c *Call, p CompleteParams) (*Completion, error)
	// Extensions are declared as they are, with their settings.
	Extensions map[string]any
	// PageSize is how many items a list shows at once; 200.
	PageSize int
	// ListTTL is how long clients may keep a list without asking again; a
	// minute. They are told of changes before that, if they listen.
	ListTTL time.Duration
}

// An Observer is told what middleware cannot see. Any field may be nil.
type Observer struct {
	// Opened and Closed: a conversation over a transport. Over HTTP that is a
	// stream on which a client waits for events; the calls beside it are not.
	Opened func()
	Closed func(error)
	// Refused: bytes that were no message, and messages that were dropped; over
	// HTTP also requests that were turned away.
	Refused func(error)
	// Panic: a handler panicked. The client was told of an internal error.
	Panic func(value any, stack []byte)
}

// A Method is a way to serve a method that the protocol does not have.
type Method struct {
	Handle Handler
	// NoHandshake serves it also without a handshake: on a pipe before initialize,
	// over HTTP without a session.
	NoHandshake bool
	// Extension, if set, is what a client must have declared.
	Extension string
	// ReadOnly says that it changes nothing that lasts.
	ReadOnly bool
}

// A Server offers tools, prompts and resources to clients of any revision. All
// methods may be called at any time, also while it serves; clients are told of
// changes.
type Server struct {
	info     Implementation
	infoJSON json.RawMessage
	o        ServerOptions
	log      *slog.Logger

	tools     catalog[*tool]
	prompts   catalog[*prompt]
	resources catalog[*resource]
	templates catalog[*resource]
	methods   catalog[*Method]
	durable   *durables

	lastClient atomic.Pointer[declared]

	handler atomic.Pointer[Handler]

	mu         sync.Mutex
	middleware []func(Handler) Handler
}

// NewServer makes a server that calls itself by info.
func NewServer(info Implementation, o *ServerOptions) *Server {
	s := &Server{info: info}
	if o != nil {
		s.o = *o
	}
	s.infoJSON, _ = jsonv2.Marshal(info)
	if s.log = s.o.Logger; s.log == nil {
		s.log = slog.Default()
	}
	if s.o.Seal == nil {
		s.o.Seal = randomKeyring()
	}
	if s.o.Tasks == nil {
		s.o.Tasks = newMemoryTasks()
	}
	if s.o.Bus == nil {
		s.o.Bus = NewBus()
	}
	if s.o.PageSize == 0 {
		s.o.PageSize = 200
	}
	if s.o.ListTTL == 0 {
		s.o.ListTTL = time.Minute
	}
	s.durable = newDurables(s)
	s.Use()
	return s
}

// Close ends the durable calls that run, and waits for them.
func (s *Server) Close() { s.durable.close() }

// Use puts middleware around every request, in all revisions and on all
// transports; the first is the outermost. Call it before serving.
func (s *Server) Use(mw ...func(Handler) Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.middleware = append(s.middleware, mw...)
	h := Handler(s.dispatch)
	for _, wrap := range slices.Backward(s.middleware) {
		h = wrap(h)
	}
	s.handler.Store(&h)
}

// HandleMethod serves a method of an extension, or one of the program's own. It
// panics if the protocol has a method of that name.
func (s *Server) HandleMethod(name string, m Method) {
	if _, ok := vocabulary[name]; ok {
		panic("mcp: method " + name + " belongs to the protocol")
	}
	s.methods.set(name, &m)
}

// Remove takes away something by its name, which for a resource is the URI and
// for a template the template.
func (s *Server) Remove(kind Kind, name string) {
	var was bool
	switch kind {
	case KindTool:
		was = s.tools.remove(name)
	case KindPrompt:
		was = s.prompts.remove(name)
	case KindResource:
		was = s.resources.remove(name)
	case KindTemplate:
		was = s.templates.remove(name)
	default:
		panic("mcp: there is no kind " + string(kind))
	}
	if was {
		s.changed(kind)
	}
}

// A Kind is one of the kinds of things that a server offers.
type Kind string

const (
	KindTool     Kind = "tool"
	KindPrompt   Kind = "prompt"
	KindResource Kind = "resource"
	KindTemplate Kind = "template" // of resources
)

func (s *Server) visible(ctx context.Context, r *Request, kind Kind) func(string) bool {
	if s.o.Visible == nil {
		return func(string) bool { return true }
	}
	return func(name string) bool { return s.o.Visible(ctx, r.Principal, kind, name) }
}

// Handle answers one request, for a transport that has no pipe: the caller has
// settled its exported fields. What the request has to say before the answer
// goes to out. The result is the JSON of the answer, in the shape of the
// request's revision; the error is always a *jsonrpc.Error, or the cause that
// ended ctx.
func (s *Server) Handle(ctx context.Context, r *Request, out Sink) (json.RawMessage, error) {
	r.out, r.server = out, s
	if r.meta == nil { // the caller has made it by hand
		r.read()
	}
	res, err := s.guarded(ctx, r, *s.handler.Load())
	if err == nil {
		var b json.RawMessage
		if b, err = s.encode(r, res); err == nil {
			return b, nil
		}
	}
	return nil, s.failure(ctx, r, err)
}

// dispatch is the innermost handler: it finds the method.
func (s *Server) dispatch(ctx context.Context, r *Request) (Result, error) {
	w, ok := vocabulary[r.Method]
	if !ok {
		return s.extra(ctx, r)
	}
	if !w.fromClient(r.Revision) {
		return nil, unknownMethod(r.Method)
	}
	if w.kind == wordNotification {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s is a notification: it has no id", r.Method)
	}
	switch r.Method {
	case "tools/call":
		return s.callTool(ctx, r)
	case "tools/list":
		return s.listTools(ctx, r)
	case "prompts/list":
		return s.listPrompts(ctx, r)
	case "prompts/get":
		return s.getPrompt(ctx, r)
	case "resources/list":
		return s.listResources(ctx, r)
	case "resources/templates/list":
		return s.listTemplates(ctx, r)
	case "resources/read":
		return s.readResource(ctx, r)
	case "completion/complete":
		return s.complete(ctx, r)
	case "initialize":
		return s.initialize(r)
	case "ping":
		return nil, nil
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		if r.session == nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s needs a session", r.Method)
		}
		return r.session.set(ctx, s, r)
	case "server/discover":
		return s.discover(), nil
	case "subscriptions/listen":
		return s.listen(ctx, r)
	case "tasks/get":
		return s.durable.get(ctx, r)
	case "tasks/update":
		return s.durable.update(ctx, r)
	case "tasks/cancel":
		return s.durable.cancel(ctx, r)
	}
	panic("mcp: no way to serve " + r.Method)
}

func (s *Server) extra(ctx context.Context, r *Request) (Result, error) {
	m, ok := s.methods.get(r.Method)
	if !ok {
		return nil, unknownMethod(r.Method)
	}
	if _, declared := r.Client.Extensions[m.Extension]; m.Extension != "" && !declared {
		return nil, r.lacks("the extension "+m.Extension, ClientCapabilities{Extensions: map[string]json.RawMessage{m.Extension: json.RawMessage("{}")}})
	}
	return m.Handle(ctx, r)
}

// capabilities tells what there is to offer now, to a reader of revision r.
func (s *Server) capabilities(r Revision) ServerCapabilities {
	c := ServerCapabilities{Logging: &struct{}{}}
	if s.tools.used() {
		c.Tools = &ToolsCapability{ListChanged: true}
	}
	if s.prompts.used() {
		c.Prompts = &PromptsCapability{ListChanged: true}
	}
	if s.hasResources() {
		c.Resources = &ResourcesCapability{Subscribe: true, ListChanged: true}
	}
	if s.o.Complete != nil && r.completionsCapability() {
		c.Completions = &struct{}{}
	}
	if r.Stateless() {
		c.Extensions = map[string]json.RawMessage{}
		for id, settings := range s.o.Extensions {
			b, err := jsonv2.Marshal(settings)
			if err != nil {
				panic(fmt.Sprintf("mcp: settings of extension %s: %v", id, err))
			}
			c.Extensions[id] = b
		}
		if s.offersTasks() {
			c.Extensions[tasksExtension] = json.RawMessage("{}")
		}
		if len(c.Extensions) == 0 {
			c.Extensions = nil
		}
	}
	return c
}

func (s *Server) hasResources() bool { return s.resources.used() || s.templates.used() }

// supportedVersions are the revisions we speak, newest first.
func supportedVersions() []string {
	var names []string
	for r := Newest; r >= R20241105; r-- {
		names = append(names, r.String())
	}
	return names
}
