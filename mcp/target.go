package mcp

import (
	"encoding/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Target is what a request is about, in the server's words: what a client has
// made up is not in it. So it can name a metric, and there are only as many as the
// server has things to offer.
type Target struct {
	// Method is empty if the server has no such method in any revision.
	Method string
	// Kind and Name are those of the tool, the prompt, the resource or the template
	// that the request names; empty if it names none, or one that is not there.
	Kind Kind
	Name string
	// Writes is set if the request may change something that lasts: a call of a tool
	// or a method of the program's own that is not said to be read-only, a change of a
	// durable call.
	Writes bool
}

// Target tells what the request is about. Middleware may ask for it; who may see
// what is not looked at.
func (r *Request) Target() Target {
	s := r.server
	if s == nil { // it was not given to Handle
		return Target{}
	}
	if _, ok := vocabulary[r.Method]; !ok {
		m, ok := s.methods.get(r.Method)
		if !ok {
			return Target{}
		}
		return Target{Method: r.Method, Writes: !m.ReadOnly}
	}
	t := Target{Method: r.Method}
	switch r.Method {
	case "tools/call":
		if x, ok := lookup(&s.tools, r.fields.name); ok {
			t.Kind, t.Name = KindTool, x.Name
			t.Writes = x.Annotations == nil || !x.Annotations.ReadOnlyHint
		}
	case "prompts/get":
		if x, ok := lookup(&s.prompts, r.fields.name); ok {
			t.Kind, t.Name = KindPrompt, x.Name
		}
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		t.Kind, t.Name = s.resourceOf(jsonrpc.Text(r.param("uri")))
	case "tasks/update", "tasks/cancel":
		t.Writes = true
	}
	return t
}

// Meta is a member of the request's _meta as JSON, nil if it is not there.
func (r *Request) Meta(name string) json.RawMessage {
	if r.meta == &noMeta {
		return nil
	}
	return member(r.param("_meta"), name)
}

// lookup looks a name up without a copy of it.
func lookup[T any](c *catalog[T], name json.RawMessage) (item T, ok bool) {
	if len(name) < 2 || name[0] != '"' {
		return item, false
	}
	item, ok = c.shelf().items[string(name[1:len(name)-1])]
	if !ok {
		item, ok = c.get(jsonrpc.Text(name)) // it may be written with escapes
	}
	return item, ok
}

// resourceOf is what is registered for a URI: a resource, or the template it fits.
func (s *Server) resourceOf(uri string) (Kind, string) {
	if _, ok := s.resources.get(uri); ok {
		return KindResource, uri
	}
	shelf := s.templates.shelf()
	for _, name := range shelf.names {
		if _, ok := shelf.items[name].template.match(uri); ok {
			return KindTemplate, name
		}
	}
	return "", ""
}
