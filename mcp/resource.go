package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Resource is data that clients read by its URI.
type Resource struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Size        *int64       `json:"size,omitzero"` // in bytes, before any encoding
	Annotations *Annotations `json:"annotations,omitzero"`
	Icons       []Icon       `json:"icons,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// A ResourceTemplate describes all resources whose URIs match a template of RFC
// 6570.
type ResourceTemplate struct {
	URITemplate string       `json:"uriTemplate"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"` // of all that match
	Annotations *Annotations `json:"annotations,omitzero"`
	Icons       []Icon       `json:"icons,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// A resource is a registered Resource or ResourceTemplate.
type resource[T any] struct {
	definition T
	mimeType   string
	template   *template // only of a template
	read       func(context.Context, *Call) (*ResourceResult, error)
	raw        rawHandler // in place of read, for a raw definition
	source     string     // see Update.Source
	jsonCache  jsonCache[T]
}

// AddResource registers a resource. Contents without a URI or a MIME type get
// those of res. If the resource does not exist any more, the handler returns
// ErrNotFound. AddResource panics if res has no name or no URI.
func (s *Server) AddResource(res Resource, h func(context.Context, *Call) (*ResourceResult, error)) {
	if res.Name == "" || res.URI == "" {
		panic("mcp: a resource needs a name and a URI")
	}
	s.resources.set(res.URI, &resource[Resource]{definition: res, mimeType: res.MIMEType, read: h})
	s.changed(KindResource)
}

// AddResourceTemplate registers a family of resources. The handler gets the URI
// from Call.URI and the template's variables from Call.Argument, and returns
// ErrNotFound for a URI that names nothing. AddResourceTemplate panics if t has
// no name or its template is invalid.
//
// Variables contain whatever a client sends. Open files through an os.Root.
func (s *Server) AddResourceTemplate(t ResourceTemplate, h func(context.Context, *Call) (*ResourceResult, error)) {
	if t.Name == "" || t.URITemplate == "" {
		panic("mcp: a resource template needs a name and a template")
	}
	compiled, err := compileTemplate(t.URITemplate)
	if err != nil {
		panic(fmt.Sprintf("mcp: resource template %s: %v", t.Name, err))
	}
	s.templates.set(t.URITemplate, &resource[ResourceTemplate]{definition: t, mimeType: t.MIMEType, template: compiled, read: h})
	s.changed(KindResourceTemplate)
}

func (s *Server) listResources(ctx context.Context, r *Request) (Result, error) {
	return listResourceKind(s, r, &s.resources, s.visible(ctx, r, KindResource))
}

func (s *Server) listTemplates(ctx context.Context, r *Request) (Result, error) {
	return listResourceKind(s, r, &s.templates, s.visible(ctx, r, KindResourceTemplate))
}

func listResourceKind[T any](s *Server, r *Request, from *catalog[*resource[T]], visible func(string) bool) (Result, error) {
	if !s.hasResources() {
		return nil, unknownMethod(r.Method)
	}
	found, next, err := from.page(r.cursor(), s.o.PageSize, visible)
	if err != nil {
		return nil, err
	}
	l := newList[T](s, next)
	for _, res := range found {
		l.add(&res.definition, &res.jsonCache)
	}
	return l, nil
}

// A foundResource is what a URI names.
type foundResource struct {
	mimeType  string
	variables map[string]string // of its template
	read      func(context.Context, *Call) (*ResourceResult, error)
	raw       rawHandler
}

// findResource returns the resource that a URI names, or nil. What the program
// itself has registered comes first, and a URI of two sources names nothing.
func (s *Server) findResource(ctx context.Context, r *Request, uri string) *foundResource {
	var found *foundResource
	source := ""
	if res, ok := s.resources.get(uri); ok {
		if !s.visible(ctx, r, KindResource)(uri) {
			return nil // nor through a template that matches
		}
		found, source = &foundResource{mimeType: res.mimeType, read: res.read, raw: res.raw}, res.source
		if res.raw == nil {
			return found
		}
	}
	snapshot := s.templates.snapshot()
	for _, name := range snapshot.names {
		res := snapshot.items[name]
		vars, ok := res.template.match(uri)
		if !ok || !s.visible(ctx, r, KindResourceTemplate)(name) || !s.visible(ctx, r, KindResource)(uri) {
			continue
		}
		if res.raw == nil {
			return &foundResource{res.mimeType, vars, res.read, nil}
		}
		if found == nil {
			found, source = &foundResource{res.mimeType, vars, res.read, res.raw}, res.source
		} else if source != res.source {
			source, found = res.source, &foundResource{raw: ambiguous}
		}
	}
	return found
}

// ambiguous reads a resource that two sources have.
func ambiguous(context.Context, *Call) (json.RawMessage, error) { return nil, ErrNotFound }

func (s *Server) readResource(ctx context.Context, r *Request) (Result, error) {
	if !s.hasResources() {
		return nil, unknownMethod(r.Method)
	}
	uri, err := text("uri", r.param("uri"))
	if err != nil {
		return nil, err
	}
	res := s.findResource(ctx, r, uri)
	if res == nil {
		return nil, resourceNotFound(r, uri)
	}
	c := &Call{ctx: ctx, Request: r, vars: res.variables}
	out, err := c.run(func() (Result, error) {
		if res.raw != nil {
			return res.raw.run(c)
		}
		read, err := res.read(ctx, c)
		if err != nil {
			return nil, err
		}
		if read == nil || len(read.Contents) == 0 {
			return nil, ErrNotFound
		}
		// The handler may return the same result again.
		result := &ResourceResult{Contents: slices.Clone(read.Contents), Meta: read.Meta}
		for i := range result.Contents {
			if result.Contents[i].URI == "" {
				result.Contents[i].URI = uri
			}
			if result.Contents[i].MIMEType == "" {
				result.Contents[i].MIMEType = res.mimeType
			}
		}
		return result, nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil, resourceNotFound(r, uri)
	}
	return out, err
}

func resourceNotFound(r *Request, uri string) error {
	return jsonrpc.Errorf(r.Revision.notFound(), "resource not found").With(map[string]string{"uri": uri})
}
