package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A listener collects events. However slowly it is read, it holds each event at
// most once.
type listener struct {
	stop  func()
	ready chan struct{}
	sees  func(part string) bool // nil if the client sees everything

	mu     sync.Mutex
	events []Event
}

// listenTo returns a listener for the events that a session's client wants, and that
// its principal sees. The caller must close it.
func (s *Server) listenTo(x *session, p Principal) *listener { return s.newListener(p, x.wants) }

func (s *Server) newListener(p Principal, wants func(Event) bool) *listener {
	l := &listener{ready: make(chan struct{}, 1)}
	if s.o.SeesPart != nil {
		l.sees = func(part string) bool { return s.o.SeesPart(context.Background(), p, part) }
	}
	l.stop = s.o.Bus.Subscribe(func(kind, name string) {
		e := Event{EventKind(kind), name}
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

func (l *listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// Close stops the listener.
func (l *listener) Close() { l.stop() }

// Next waits for events and returns them. It returns nil if ctx is done first.
func (l *listener) Next(ctx context.Context) []Event {
	stop := context.AfterFunc(ctx, l.wake)
	defer stop()
	for {
		<-l.ready // a select would use more stack, which idle streams keep
		l.mu.Lock()
		events := l.events
		l.events = nil
		l.mu.Unlock()
		events = l.resolve(events)
		if events != nil || ctx.Err() != nil {
			return events
		}
	}
}

// resolve replaces changed parts of resources by the resources, if the client sees
// the part.
func (l *listener) resolve(events []Event) (seen []Event) {
	for _, e := range events {
		if e.Kind == eventPart {
			uri, part := e.part()
			if l.sees != nil && !l.sees(part) {
				continue
			}
			e = Event{Kind: EventResource, Name: uri}
		}
		if !slices.Contains(seen, e) {
			seen = append(seen, e)
		}
	}
	return seen
}

// acceptedFilter returns the filter of a request, reduced to what the server
// can provide to its client.
func (s *Server) acceptedFilter(ctx context.Context, r *Request) (*EventFilter, error) {
	f := new(EventFilter)
	if err := object("notifications", r.param("notifications"), f); err != nil {
		return nil, err
	}
	f.Tools = f.Tools && s.tools.everUsed()
	f.Prompts = f.Prompts && s.prompts.everUsed()
	f.Resources = f.Resources && s.hasResources()
	if len(f.ResourceURIs) > maxSubscriptions || len(f.TaskIDs) > maxSubscriptions {
		return nil, invalid("more than %d subscriptions", maxSubscriptions)
	}
	f.ResourceURIs = slices.DeleteFunc(f.ResourceURIs, func(uri string) bool {
		res := s.findResource(ctx, r, uri)
		return res == nil
	})
	if f.TaskIDs != nil && !r.supportsTasks() {
		return nil, missingCapability(tasksCapability())
	}
	f.TaskIDs = slices.DeleteFunc(f.TaskIDs, func(id string) bool {
		_, err := s.durable.find(ctx, r, id)
		return err != nil
	})
	return f, nil
}

// listen handles subscriptions/listen: it notifies the client of events until
// the client cancels or the connection ends.
func (s *Server) listen(ctx context.Context, r *Request) (Result, error) {
	f, err := s.acceptedFilter(ctx, r)
	if err != nil {
		return nil, err
	}
	l := s.newListener(r.Principal, f.wants)
	defer l.Close()
	defer jsonrpc.Idle(ctx)()
	if err := s.acknowledge(ctx, r, f); err != nil {
		return nil, err
	}
	for events := l.Next(ctx); events != nil; events = l.Next(ctx) {
		for _, e := range events {
			if err := s.notifyEvent(ctx, r, e); err != nil {
				return nil, err
			}
		}
	}
	if cause := context.Cause(ctx); !errors.Is(cause, jsonrpc.ErrClosed) {
		return nil, cause
	}
	return map[string]any{"_meta": subscriptionMeta(r)}, nil
}

// subscriptionMeta is the _meta of notifications that belong to a
// subscriptions/listen request.
func subscriptionMeta(r *Request) map[string]any { return map[string]any{metaSubscription: r.ID} }

func (s *Server) acknowledge(ctx context.Context, r *Request, f *EventFilter) error {
	return r.out.Notify(ctx, "notifications/subscriptions/acknowledged", map[string]any{"notifications": f, "_meta": subscriptionMeta(r)})
}

// notifyEvent sends an event to a client that listens.
func (s *Server) notifyEvent(ctx context.Context, r *Request, e Event) error {
	method, params := e.notification()
	if e.Kind == EventTask {
		call, err := s.durable.find(ctx, r, e.Name)
		if err != nil {
			return nil // it no longer exists
		}
		method, params = "notifications/tasks", taskDetail(call)
	}
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = subscriptionMeta(r)
	return r.out.Notify(ctx, method, params)
}
