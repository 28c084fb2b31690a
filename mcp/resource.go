package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Resource is something that can be read by its URI. With URITemplate in
// place of URI it is a template, and stands for every resource that matches.
type Resource struct {
	URI         string       `json:"uri,omitzero"`
	URITemplate string       `json:"uriTemplate,omitzero"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Size        *int64       `json:"size,omitzero"` // in bytes, before any encoding
	Annotations *Annotations `json:"annotations,omitzero"`
	Icons       []Icon       `json:"icons,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// A resource is a registered Resource.
type resource struct {
	Resource
	template *template // of a template
	read     func(context.Context, *Call) ([]Contents, error)
	wires    wires[Resource]
}

// AddResource registers a resource, or with URITemplate set a template of them.
// The handler finds the URI with Call.URI and the template's variables with
// Call.Argument. Contents without a URI or a type get the resource's. For what
// is not there the handler returns ErrNotFound.
//
// A variable holds whatever a client wrote: open files below an os.Root.
func (s *Server) AddResource(res Resource, h func(context.Context, *Call) ([]Contents, error)) {
	if res.Name == "" || (res.URI == "") == (res.URITemplate == "") {
		panic("mcp: a resource needs a name, and a URI or a template")
	}
	entry := &resource{Resource: res, read: h}
	if res.URI != "" {
		s.resources.set(res.URI, entry)
		s.changed(KindResource)
		return
	}
	var err error
	if entry.template, err = compileTemplate(res.URITemplate); err != nil {
		panic(fmt.Sprintf("mcp: resource %s: %v", res.Name, err))
	}
	s.templates.set(res.URITemplate, entry)
	s.changed(KindTemplate)
}

func (s *Server) listResources(ctx context.Context, r *Request) (Result, error) {
	return s.shelve(r, &s.resources, "resources", s.visible(ctx, r, KindResource))
}

func (s *Server) listTemplates(ctx context.Context, r *Request) (Result, error) {
	return s.shelve(r, &s.templates, "resourceTemplates", s.visible(ctx, r, KindTemplate))
}

func (s *Server) shelve(r *Request, from *catalog[*resource], key string, visible func(string) bool) (Result, error) {
	if !s.hasResources() {
		return nil, unknownMethod(r.Method)
	}
	found, next, err := from.page(r.param("cursor"), s.o.PageSize, visible)
	if err != nil {
		return nil, err
	}
	l := &listResult{key: key, next: next, cache: s.cache(r, s.o.ListTTL)}
	for _, res := range found {
		b, err := res.wires.get(Newest, func() *Resource { return &res.Resource })
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, b)
	}
	return l, nil
}

// findResource finds what a URI names, and a template's variables.
func (s *Server) findResource(ctx context.Context, r *Request, uri string) (*resource, map[string]string) {
	if res, ok := s.resources.get(uri); ok {
		if !s.visible(ctx, r, KindResource)(uri) {
			return nil, nil // nor by a template that fits it
		}
		return res, nil
	}
	shelf := s.templates.shelf()
	for _, name := range shelf.names {
		res := shelf.items[name]
		if vars, ok := res.template.match(uri); ok && s.visible(ctx, r, KindTemplate)(name) && s.visible(ctx, r, KindResource)(uri) {
			return res, vars
		}
	}
	return nil, nil
}

// A readResult is the contents of a resource.
type readResult struct {
	contents []Contents
	cache    cacheHint
}

func (r *readResult) append(b []byte) ([]byte, error) {
	b = append(b, `{"contents":[`...)
	for i := range r.contents {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = r.contents[i].append(b); err != nil {
			return nil, err
		}
	}
	return append(r.cache.append(append(b, ']')), '}'), nil
}

func (s *Server) readResource(ctx context.Context, r *Request) (Result, error) {
	if !s.hasResources() {
		return nil, unknownMethod(r.Method)
	}
	uri, err := text("uri", r.param("uri"))
	if err != nil {
		return nil, err
	}
	res, vars := s.findResource(ctx, r, uri)
	if res == nil {
		return nil, resourceNotFound(r, uri)
	}
	c := &Call{ctx: ctx, server: s, r: r, vars: vars}
	out, err := c.run(func() (Result, error) {
		contents, err := res.read(ctx, c)
		if err != nil {
			return nil, err
		}
		contents = slices.Clone(contents) // the handler may give them out again
		for i := range contents {
			if contents[i].URI == "" {
				contents[i].URI = uri
			}
			if contents[i].MIMEType == "" {
				contents[i].MIMEType = res.MIMEType
			}
		}
		return &readResult{contents, s.cache(r, 0)}, nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil, resourceNotFound(r, uri)
	}
	if rr, ok := out.(*readResult); ok && len(rr.contents) == 0 {
		return nil, resourceNotFound(r, uri)
	}
	return out, err
}

func resourceNotFound(r *Request, uri string) error {
	return jsonrpc.Errorf(r.Revision.notFound(), "resource not found").With(map[string]string{"uri": uri})
}
