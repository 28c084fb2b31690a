package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// An Event is a change that clients may want to hear of.
type Event struct {
	Kind EventKind
	Name string // the resource's URI, or the durable call's id
}

// An EventKind says what has changed.
type EventKind string

const (
	EventTools     EventKind = "tools"     // the list of tools
	EventPrompts   EventKind = "prompts"   // the list of prompts
	EventResources EventKind = "resources" // the list of resources or templates
	EventResource  EventKind = "resource"  // what a resource holds
	EventTask      EventKind = "task"      // how a durable call stands
)

// A Bus carries events to every listener of every replica that shares it.
// Publish must not wait for listeners, which must be quick. An event may arrive
// more than once or be lost: listeners read again what they care for.
type Bus interface {
	Publish(e Event)
	Subscribe(hear func(Event)) (stop func())
}

type memoryBus struct {
	mu        sync.Mutex
	listeners map[*func(Event)]bool
}

// NewBus makes a bus for the listeners of one process. A server that is given none has
// such a one.
func NewBus() Bus { return &memoryBus{listeners: map[*func(Event)]bool{}} }

func (b *memoryBus) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for hear := range b.listeners {
		(*hear)(e)
	}
}

func (b *memoryBus) Subscribe(hear func(Event)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[&hear] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, &hear)
	}
}

// changed tells listeners that a list has changed.
func (s *Server) changed(kind Kind) {
	switch kind {
	case KindTool:
		s.o.Bus.Publish(Event{Kind: EventTools})
	case KindPrompt:
		s.o.Bus.Publish(Event{Kind: EventPrompts})
	default:
		s.o.Bus.Publish(Event{Kind: EventResources})
	}
}

// ResourceUpdated tells those who watch a resource that it has changed.
func (s *Server) ResourceUpdated(uri string) {
	s.o.Bus.Publish(Event{Kind: EventResource, Name: uri})
}

// Notification is how a client with a session is told of the event.
func (e Event) Notification() (method string, params map[string]any) {
	if e.Kind == EventResource {
		return "notifications/resources/updated", map[string]any{"uri": e.Name}
	}
	return "notifications/" + string(e.Kind) + "/list_changed", nil
}

// A Listener gathers the events that somebody wants. However slow it is read,
// it holds each event once.
type Listener struct {
	stop  func()
	ready chan struct{}

	mu     sync.Mutex
	events []Event
}

// Listen gathers what a session's client is to hear of, until Close.
func (s *Server) Listen(x *Session) *Listener { return s.newListener(x.wants) }

func (s *Server) newListener(wants func(Event) bool) *Listener {
	l := &Listener{ready: make(chan struct{}, 1)}
	l.stop = s.o.Bus.Subscribe(func(e Event) {
		if !wants(e) {
			return
		}
		l.mu.Lock()
		if !slices.Contains(l.events, e) {
			l.events = append(l.events, e)
		}
		l.mu.Unlock()
		l.wake()
	})
	return l
}

func (l *Listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// Close ends the gathering.
func (l *Listener) Close() { l.stop() }

// Next waits for events and returns them, or nil when ctx ends first.
func (l *Listener) Next(ctx context.Context) []Event {
	stop := context.AfterFunc(ctx, l.wake)
	defer stop()
	for {
		<-l.ready // a select takes more of the stack, which is kept while we wait
		l.mu.Lock()
		events := l.events
		l.events = nil
		l.mu.Unlock()
		if events != nil || ctx.Err() != nil {
			return events
		}
	}
}

// A Filter says which events a client wants to hear of.
type Filter struct {
	Tools     bool     `json:"toolsListChanged,omitzero"`
	Prompts   bool     `json:"promptsListChanged,omitzero"`
	Resources bool     `json:"resourcesListChanged,omitzero"`
	Watch     []string `json:"resourceSubscriptions,omitzero"` // URIs
	Tasks     []string `json:"taskIds,omitzero"`               // ids of durable calls
}

func (f *Filter) wants(e Event) bool {
	switch e.Kind {
	case EventTools:
		return f.Tools
	case EventPrompts:
		return f.Prompts
	case EventResources:
		return f.Resources
	case EventResource:
		return slices.Contains(f.Watch, e.Name)
	case EventTask:
		return slices.Contains(f.Tasks, e.Name)
	}
	return false
}

// honoured is the part of the filter in a request that the server can serve its
// client.
func (s *Server) honoured(ctx context.Context, r *Request) (*Filter, error) {
	f := new(Filter)
	if err := object("notifications", r.param("notifications"), f); err != nil {
		return nil, err
	}
	f.Tools = f.Tools && s.tools.used()
	f.Prompts = f.Prompts && s.prompts.used()
	f.Resources = f.Resources && s.hasResources()
	if len(f.Watch) > maxSubscriptions || len(f.Tasks) > maxSubscriptions {
		return nil, invalid("more than %d subscriptions", maxSubscriptions)
	}
	f.Watch = slices.DeleteFunc(f.Watch, func(uri string) bool {
		res, _ := s.findResource(ctx, r, uri)
		return res == nil
	})
	if f.Tasks != nil && !r.takesTasks() {
		return nil, missing(tasksCapability())
	}
	f.Tasks = slices.DeleteFunc(f.Tasks, func(id string) bool {
		_, err := s.durable.find(ctx, r, id)
		return err != nil
	})
	return f, nil
}

// listen serves subscriptions/listen: it tells the client of events until the
// client or the conversation ends.
func (s *Server) listen(ctx context.Context, r *Request) (Result, error) {
	f, err := s.honoured(ctx, r)
	if err != nil {
		return nil, err
	}
	l := s.newListener(f.wants)
	defer l.Close()
	defer jsonrpc.Idle(ctx)()
	if err := s.acknowledge(ctx, r, f); err != nil {
		return nil, err
	}
	for events := l.Next(ctx); events != nil; events = l.Next(ctx) {
		for _, e := range events {
			if err := s.tell(ctx, r, e); err != nil {
				return nil, err
			}
		}
	}
	if cause := context.Cause(ctx); !errors.Is(cause, jsonrpc.ErrClosed) {
		return nil, cause
	}
	return map[string]any{"_meta": subscription(r)}, nil
}

// subscription marks what belongs to a request to listen.
func subscription(r *Request) map[string]any { return map[string]any{metaSubscription: r.ID} }

func (s *Server) acknowledge(ctx context.Context, r *Request, f *Filter) error {
	return r.out.Notify(ctx, "notifications/subscriptions/acknowledged", map[string]any{"notifications": f, "_meta": subscription(r)})
}

// tell tells a client that listens of an event.
func (s *Server) tell(ctx context.Context, r *Request, e Event) error {
	method, params := e.Notification()
	if e.Kind == EventTask {
		call, err := s.durable.find(ctx, r, e.Name)
		if err != nil {
			return nil // it is gone
		}
		method, params = "notifications/tasks", call.detail()
	}
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = subscription(r)
	return r.out.Notify(ctx, method, params)
}
