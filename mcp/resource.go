package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Resource is data that clients read by its URI. With URITemplate instead of
// URI it is a template for all resources that match.
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
	template  *template // only of a template
	read      func(context.Context, *Call) ([]Contents, error)
	jsonCache jsonCache[Resource]
}

// AddResource registers a resource, or a resource template if URITemplate is
// set. The handler gets the URI from Call.URI and the template's variables from
// Call.Argument. Contents without a URI or a MIME type get those of the
// resource. If the resource does not exist, the handler returns ErrNotFound.
//
// Variables contain whatever a client sends. Open files through an os.Root.
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
	return s.listResourceKind(r, &s.resources, "resources", s.visible(ctx, r, KindResource))
}

func (s *Server) listTemplates(ctx context.Context, r *Request) (Result, error) {
	return s.listResourceKind(r, &s.templates, "resourceTemplates", s.visible(ctx, r, KindTemplate))
}

func (s *Server) listResourceKind(r *Request, from *catalog[*resource], key string, visible func(string) bool) (Result, error) {
	if !s.hasResources() {
		return nil, unknownMethod(r.Method)
	}
	found, next, err := from.page(r.cursor(), s.o.PageSize, visible)
	if err != nil {
		return nil, err
	}
	l := &listResult{key: key, next: next, cache: s.cache(r, s.o.ListTTL)}
	for _, res := range found {
		b, err := res.jsonCache.get(Newest, func() *Resource { return &res.Resource })
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, b)
	}
	return l, nil
}

// findResource returns the resource that a URI names, and the variables of its
// template.
func (s *Server) findResource(ctx context.Context, r *Request, uri string) (*resource, map[string]string) {
	if res, ok := s.resources.get(uri); ok {
		if !s.visible(ctx, r, KindResource)(uri) {
			return nil, nil // nor through a template that matches
		}
		return res, nil
	}
	snapshot := s.templates.snapshot()
	for _, name := range snapshot.names {
		res := snapshot.items[name]
		if vars, ok := res.template.match(uri); ok && s.visible(ctx, r, KindTemplate)(name) && s.visible(ctx, r, KindResource)(uri) {
			return res, vars
		}
	}
	return nil, nil
}

// A readResult is the result of resources/read.
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
		contents = slices.Clone(contents) // the handler may return the same slice again
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
