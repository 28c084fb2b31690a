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
	"github.com/bossman-dev/bossman/mcp/internal/link"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// ServerOptions configures a Server. The zero value is valid.
type ServerOptions struct {
	// Instructions tells models how to use the server.
	Instructions string
	// Logger receives messages for the operator. Default: slog.Default().
	Logger *slog.Logger
	// Observer is told about events that middleware cannot see.
	Observer Observer
	// Keyring encrypts the data that clients carry for the server. Replicas must
	// share its keys. Default: a random key, valid until the process ends.
	Keyring *replica.Keyring
	// Tasks stores calls that run as tasks; see AsTask. Default: in memory.
	Tasks replica.TaskStore
	// Bus distributes events to the listeners of all replicas. Default: to
	// those of this server only.
	Bus replica.Bus
	// Visible hides items from some requests, such as those of some principals.
	// Hidden items are neither listed nor found. Names are those of Remove; a
	// resource that matches a template is also checked by its URI.
	Visible func(ctx context.Context, r *Request, kind Kind, name string) bool
	// SeesPart reports whether a principal sees a part of a resource, and is
	// therefore notified when it changes; see ResourceUpdated. Default: everybody
	// sees everything.
	SeesPart func(ctx context.Context, p Principal, part string) bool
	// Complete suggests values for an argument of a prompt or a resource
	// template.
	Complete func(ctx context.Context, c *Call, p *CompleteParams) (*Completion, error)
	// Extensions lists the extensions to declare, with their settings.
	Extensions map[string]any
	// PageSize is the number of items on one page of a list; default 200.
	PageSize int
	// ListTTL is how long clients may cache a list; default one minute. Clients
	// that listen are notified of changes earlier.
	ListTTL time.Duration
}

// A Method is a method that the protocol does not define.
type Method struct {
	Handle Handler
	// NoHandshake allows calls without a handshake: on a pipe before
	// initialize, over HTTP without a session.
	NoHandshake bool
	// Extension, if set, is the extension that a client must have declared.
	Extension string
	// ReadOnly means that the method changes no lasting state.
	ReadOnly bool
	// Ordered is like Tool.Ordered.
	Ordered bool
}

// A Server offers tools, prompts and resources to clients of all revisions. Its
// methods may be called concurrently, also while it serves; clients are
// notified of changes.
type Server struct {
	info     Implementation
	infoJSON json.RawMessage
	o        ServerOptions
	log      *slog.Logger

	tools     catalog[*tool]
	prompts   catalog[*prompt]
	resources catalog[*resource[Resource]]
	templates catalog[*resource[ResourceTemplate]]
	methods   catalog[*Method]
	durable   *durableCalls

	lastCapabilities atomic.Pointer[parsedCapabilities]

	handler atomic.Pointer[Handler]
	ordered atomic.Bool // a tool or a method is Ordered

	mu         sync.Mutex
	middleware []func(Handler) Handler
}

// NewServer returns a server that introduces itself as info.
func NewServer(info Implementation, o *ServerOptions) *Server {
	s := &Server{info: info}
	if o != nil {
		s.o = *o
	}
	s.infoJSON, _ = jsonv2.Marshal(info)
	if s.log = s.o.Logger; s.log == nil {
		s.log = slog.Default()
	}
	if s.o.Keyring == nil {
		s.o.Keyring = randomKeyring()
	}
	if s.o.Tasks == nil {
		s.o.Tasks = newMemoryTasks()
	}
	if s.o.Bus == nil {
		s.o.Bus = replica.NewBus()
	}
	if s.o.PageSize == 0 {
		s.o.PageSize = 200
	}
	if s.o.ListTTL == 0 {
		s.o.ListTTL = time.Minute
	}
	s.durable = newDurableCalls(s)
	s.Use()
	return s
}

// Close cancels the running tasks and waits for them.
func (s *Server) Close() { s.durable.close() }

// Use adds middleware around every request, in all revisions and on all
// transports. The first one added is the outermost. Call it before serving.
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

// HandleMethod adds a method of an extension or of the program. It panics if
// the protocol defines a method with that name.
func (s *Server) HandleMethod(name string, m Method) {
	if _, ok := vocabulary[name]; ok {
		panic("mcp: method " + name + " belongs to the protocol")
	}
	if m.Ordered {
		s.ordered.Store(true)
	}
	s.methods.set(name, &m)
}

// Remove removes items by name. The name of a resource is its URI, that of a
// template its URI template. Unknown ones are ignored.
func (s *Server) Remove(kind Kind, names ...string) {
	remove := s.remover(kind)
	if remove == nil {
		panic("mcp: unknown kind " + string(kind))
	}
	removed := false
	for _, name := range names {
		removed = remove(name) || removed
	}
	if removed {
		s.changed(kind)
	}
}

// remover returns the function that removes an item of a kind, or nil.
func (s *Server) remover(kind Kind) func(name string) (found bool) {
	switch kind {
	case KindTool:
		return s.tools.remove
	case KindPrompt:
		return s.prompts.remove
	case KindResource:
		return s.resources.remove
	case KindResourceTemplate:
		return s.templates.remove
	}
	return nil
}

// A Kind is a kind of item that a server offers.
type Kind string

// The kinds of items.
const (
	KindTool             Kind = "tool"
	KindPrompt           Kind = "prompt"
	KindResource         Kind = "resource"
	KindResourceTemplate Kind = "template" // a resource template
)

func (s *Server) visible(ctx context.Context, r *Request, kind Kind) func(string) bool {
	if s.o.Visible == nil {
		return func(string) bool { return true }
	}
	return func(name string) bool { return s.o.Visible(ctx, r, kind, name) }
}

// handle handles one request for a transport that does not use Serve. The
// caller has prepared the request. handle sends notifications and
// requests that belong to it to out. The result is encoded for the request's
// revision. The error is a *jsonrpc.Error or the cause that ended ctx.
func (s *Server) handle(ctx context.Context, r *Request, out link.Sink) (json.RawMessage, error) {
	r.out, r.server = out, s
	if r.meta == nil { // the caller did not use NewRequest
		r.parse()
	}
	res, err := s.recovering(ctx, r, *s.handler.Load())
	if err == nil {
		var b json.RawMessage
		if b, err = s.encode(r, res); err == nil {
			return b, nil
		}
	}
	return nil, s.toRPCError(ctx, r, err)
}

// dispatch is the innermost handler. It selects the method.
func (s *Server) dispatch(ctx context.Context, r *Request) (Result, error) {
	w, ok := vocabulary[r.Method]
	if !ok {
		return s.dispatchCustom(ctx, r)
	}
	if !w.fromClient(r.Revision) {
		return nil, unknownMethod(r.Method)
	}
	if w.kind == wordNotification {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s is a notification and must not have an id", r.Method)
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
		if r.session == nil || r.session.alone {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s requires a session", r.Method)
		}
		return r.session.update(ctx, s, r)
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
	panic("mcp: no handler for " + r.Method)
}

func (s *Server) dispatchCustom(ctx context.Context, r *Request) (Result, error) {
	m, ok := s.methods.get(r.Method)
	if !ok {
		return nil, unknownMethod(r.Method)
	}
	if _, declared := r.Capabilities.Extensions[m.Extension]; m.Extension != "" && !declared {
		return nil, r.capabilityError("the extension "+m.Extension, ClientCapabilities{Extensions: map[string]json.RawMessage{m.Extension: json.RawMessage("{}")}})
	}
	return m.Handle(ctx, r)
}

// capabilities returns what the server offers now, for revision r.
func (s *Server) capabilities(r Revision) ServerCapabilities {
	c := ServerCapabilities{Logging: &struct{}{}}
	if s.tools.everUsed() {
		c.Tools = &ToolsCapability{ListChanged: true}
	}
	if s.prompts.everUsed() {
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

func (s *Server) hasResources() bool { return s.resources.everUsed() || s.templates.everUsed() }

// supportedVersions returns the names of all revisions, latest first.
func supportedVersions() []string {
	var names []string
	for r := LatestRevision; r >= R20241105; r-- {
		names = append(names, r.String())
	}
	return names
}
