package mcp

import "github.com/bossman-dev/bossman/internal/rawjson"

// A Target identifies what a request is about, using only names that the server
// defines. So it is safe as a metric label: the number of targets is bounded.
type Target struct {
	// Method is empty if the server does not have the method in any revision.
	Method string
	// Kind and Name identify the tool, prompt, resource or template that the
	// request names; empty if it names none, or an unknown one.
	Kind Kind
	Name string
	// Writes reports whether the request may change lasting state: a call of a
	// tool or custom method that is not marked read-only, or a change of a
	// task.
	Writes bool
}

// Target returns what the request is about. It is meant for middleware, and
// ignores visibility.
func (r *Request) Target() Target {
	s := r.server
	if s == nil { // Handle was not called
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
		if x, ok := s.tools.get(r.name); ok {
			t.Kind, t.Name = KindTool, x.Name
			t.Writes = x.Annotations == nil || !x.Annotations.ReadOnlyHint
		}
	case "prompts/get":
		if x, ok := s.prompts.get(r.name); ok {
			t.Kind, t.Name = KindPrompt, x.Name
		}
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		t.Kind, t.Name = s.resourceOf(rawjson.Text(r.param("uri")))
	case "tasks/update", "tasks/cancel":
		t.Writes = true
	}
	return t
}

// resourceOf returns the registered resource or the template that matches a
// URI.
func (s *Server) resourceOf(uri string) (Kind, string) {
	if _, ok := s.resources.get(uri); ok {
		return KindResource, uri
	}
	snapshot := s.templates.snapshot()
	for _, name := range snapshot.names {
		if _, ok := snapshot.items[name].template.match(uri); ok {
			return KindResourceTemplate, name
		}
	}
	return "", ""
}
