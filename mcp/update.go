package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An Update collects changes of what a server offers. Its methods take
// definitions as JSON, which are listed as they are: members that this package
// does not know are kept. They return errors where those of Server panic.
//
// Handlers return results as JSON, and can ask the client with the Call. Results
// are sent as they are, except for members that the client's revision or the
// connection to it decides about.
type Update struct {
	// Unchecked accepts tools whose input schema cannot be compiled. Their
	// arguments are not checked. Schemas that can be compiled always are.
	Unchecked bool
	// Source names where the resources and templates that are added next come
	// from. A URI that matches those of two sources is not found.
	Source string
	// Tasks says whether calls of the tools that are added next may become
	// tasks; see AsTask. It takes results as JSON there.
	Tasks TaskSupport

	server  *Server
	apply   []func()
	changed map[Kind]bool
}

// Update makes many changes with one notification for each list. If f returns an
// error, Update returns it and changes nothing. The Update is not valid after f.
func (s *Server) Update(f func(u *Update) error) error {
	u := &Update{server: s, changed: map[Kind]bool{}}
	if err := f(u); err != nil {
		return err
	}
	for _, apply := range u.apply {
		apply()
	}
	if u.changed[KindResource] && u.changed[KindResourceTemplate] {
		delete(u.changed, KindResourceTemplate) // one event is for both
	}
	for kind, changed := range u.changed {
		if changed {
			s.changed(kind)
		}
	}
	return nil
}

// Add adds or replaces an item, whose definition is as in the protocol's lists. A
// tool's handler gets arguments that match the input schema, as the client sent
// them. What the program itself has registered, such as with AddTool or
// AddResource, is not replaced: Add returns an error.
func (u *Update) Add(kind Kind, definition json.RawMessage, h func(context.Context, *Call) (json.RawMessage, error)) error {
	if h == nil {
		h = func(context.Context, *Call) (json.RawMessage, error) {
			return nil, errors.New("mcp: the item has no handler")
		}
	}
	switch kind {
	case KindTool:
		return u.addTool(definition, h)
	case KindPrompt:
		return u.addPrompt(definition, h)
	case KindResource:
		return u.addResource(definition, h)
	case KindResourceTemplate:
		return u.addResourceTemplate(definition, h)
	}
	return fmt.Errorf("mcp: unknown kind %q", kind)
}

// Remove removes items by name, URI or template. Unknown ones are ignored, and so
// is what the program itself has registered: [Server.Remove] removes that.
func (u *Update) Remove(kind Kind, names ...string) error {
	remove := u.server.remover(kind)
	if remove == nil {
		return fmt.Errorf("mcp: unknown kind %q", kind)
	}
	for _, name := range names {
		u.apply = append(u.apply, func() { u.changed[kind] = !u.server.owns(kind, name) && remove(name) || u.changed[kind] })
	}
	return nil
}

func (u *Update) add(kind Kind, apply func()) {
	u.changed[kind] = true
	u.apply = append(u.apply, apply)
}

func (u *Update) addTool(definition json.RawMessage, h rawHandler) error {
	t := &tool{raw: h}
	text, err := readDefinition(definition, &t.Tool)
	if err != nil {
		return fmt.Errorf("tool: %w", err)
	}
	t.Tasks = u.Tasks
	if !toolName.MatchString(t.Name) {
		return fmt.Errorf("tool name %.200q: want 1 to 128 of A-Z a-z 0-9 _ . -", t.Name)
	}
	if !hasObjectRoot(t.InputSchema) {
		return fmt.Errorf(`input schema of tool %s: want "type": "object" at the root`, t.Name)
	}
	if late, err := newLateChecker(t.InputSchema); err == nil {
		t.check = late
	} else if !u.Unchecked {
		return fmt.Errorf("input schema of tool %s: %w", t.Name, err)
	}
	if t.headers, err = paramHeaders(t.InputSchema); err != nil {
		return fmt.Errorf("input schema of tool %s: %w", t.Name, err)
	}
	var last *json.RawMessage
	for _, r := range Revisions() {
		listed, err := rawTool(text, shapeTool(&t.Tool, r))
		if err != nil {
			return fmt.Errorf("tool %s: %w", t.Name, err)
		}
		if last == nil || !bytes.Equal(*last, listed) { // most are the same in all revisions
			last = &listed
		}
		t.jsonCache[r].Store(last)
	}
	if u.server.owns(KindTool, t.Name) {
		return fmt.Errorf("tool %s: %w", t.Name, errOwn)
	}
	u.add(KindTool, func() { u.server.tools.set(t.Name, t) })
	return nil
}

func (u *Update) addPrompt(definition json.RawMessage, h rawHandler) error {
	p := &prompt{raw: h}
	text, err := readDefinition(definition, &p.Prompt)
	if err == nil && p.Name == "" {
		err = errors.New("a name is missing")
	}
	if err != nil {
		return fmt.Errorf("prompt: %w", err)
	}
	if u.server.owns(KindPrompt, p.Name) {
		return fmt.Errorf("prompt %.200q: %w", p.Name, errOwn)
	}
	p.jsonCache.fill(text)
	u.add(KindPrompt, func() { u.server.prompts.set(p.Name, p) })
	return nil
}

func (u *Update) addResource(definition json.RawMessage, h rawHandler) error {
	res := &resource[Resource]{raw: h, source: u.Source}
	text, err := readDefinition(definition, &res.definition)
	if err == nil && (res.definition.URI == "" || res.definition.Name == "") {
		err = errors.New("a name or a URI is missing")
	}
	if err != nil {
		return fmt.Errorf("resource: %w", err)
	}
	if u.server.ownsResource(res.definition.URI) {
		return fmt.Errorf("resource %.200q: %w", res.definition.URI, errOwn)
	}
	res.jsonCache.fill(text)
	u.add(KindResource, func() { u.server.resources.set(res.definition.URI, res) })
	return nil
}

func (u *Update) addResourceTemplate(definition json.RawMessage, h rawHandler) error {
	res := &resource[ResourceTemplate]{raw: h, source: u.Source}
	text, err := readDefinition(definition, &res.definition)
	if err == nil && (res.definition.URITemplate == "" || res.definition.Name == "") {
		err = errors.New("a name or a template is missing")
	}
	if err == nil {
		res.template, err = compileTemplate(res.definition.URITemplate)
	}
	if err != nil {
		return fmt.Errorf("resource template: %w", err)
	}
	if u.server.owns(KindResourceTemplate, res.definition.URITemplate) {
		return fmt.Errorf("resource template %.200q: %w", res.definition.URITemplate, errOwn)
	}
	res.jsonCache.fill(text)
	u.add(KindResourceTemplate, func() { u.server.templates.set(res.definition.URITemplate, res) })
	return nil
}

var errOwn = errors.New("the server has one of its own of that name")

// owns reports whether the program itself has registered an item.
func (s *Server) owns(kind Kind, name string) bool {
	switch kind {
	case KindTool:
		t, ok := s.tools.get(name)
		return ok && t.raw == nil
	case KindPrompt:
		p, ok := s.prompts.get(name)
		return ok && p.raw == nil
	case KindResource:
		r, ok := s.resources.get(name)
		return ok && r.raw == nil
	case KindResourceTemplate:
		t, ok := s.templates.get(name)
		return ok && t.raw == nil
	}
	return false
}

// ownsResource reports whether the program itself has registered a resource, or a
// template that matches it.
func (s *Server) ownsResource(uri string) bool {
	if s.owns(KindResource, uri) {
		return true
	}
	for _, t := range s.templates.snapshot().items {
		if t.raw == nil {
			if _, ok := t.template.match(uri); ok {
				return true
			}
		}
	}
	return false
}

// readDefinition decodes a definition, and returns its text without whitespace.
func readDefinition(definition json.RawMessage, into any) (json.RawMessage, error) {
	v := jsontext.Value(definition).Clone()
	if !v.IsValid() || v.Kind() != '{' || v.Compact() != nil {
		return nil, errors.New("the definition is not a JSON object")
	}
	if err := jsonv2.Unmarshal(v, into); err != nil {
		return nil, errors.New(plainError(err))
	}
	return json.RawMessage(v), nil
}

// rawTool returns a definition with the schemas of a tool that was reshaped for
// older clients.
func rawTool(text json.RawMessage, shaped *Tool) (json.RawMessage, error) {
	return editMembers(text, func(name string, v json.RawMessage) (json.RawMessage, error) {
		switch name {
		case "inputSchema":
			return shaped.InputSchema, nil
		case "outputSchema":
			return shaped.OutputSchema, nil
		}
		return v, nil
	})
}

// A rawHandler returns a result as JSON.
type rawHandler func(context.Context, *Call) (json.RawMessage, error)

// run calls the handler, and replaces what belongs to the connection that its
// result came on.
func (h rawHandler) run(c *Call) (Result, error) {
	raw, err := h(c.ctx, c)
	if err != nil {
		return nil, err
	}
	return rawResult(c.Request, raw)
}

// rawResult returns a result for the client of a request.
func rawResult(r *Request, raw json.RawMessage) (Result, error) {
	v := jsontext.Value(raw).Clone()
	if !v.IsValid() || v.Kind() != '{' || v.Compact() != nil {
		return nil, errors.New("mcp: the handler's result is not a JSON object")
	}
	stateless, hinted := r.Revision.Stateless(), false
	out, err := editMembers(json.RawMessage(v), func(name string, v json.RawMessage) (json.RawMessage, error) {
		switch name {
		case "ttlMs", "cacheScope":
			hinted = true
			fallthrough
		case "resultType":
			if !stateless {
				return nil, nil
			}
		case "_meta":
			meta, err := editMembers(v, func(name string, v json.RawMessage) (json.RawMessage, error) {
				if name == metaServerInfo {
					return nil, nil
				}
				return v, nil
			})
			if err != nil || string(meta) == "{}" {
				return nil, err
			}
			return meta, nil
		}
		return v, nil
	})
	if err == nil && stateless && !hinted && r.Method == "resources/read" {
		out = append(contentsHint(r).append(out[:len(out)-1]), '}')
	}
	return out, err
}
