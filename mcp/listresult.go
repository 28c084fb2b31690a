package mcp

import (
	"encoding/json"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// A ListResult is one page of a list of T: Tool, Prompt, Resource or
// ResourceTemplate. Items are shared with the server: middleware removes or replaces elements, and must not
// modify what they point to.
type ListResult[T any] struct {
	Items      []*T
	NextCursor string        // empty on the last page
	TTL        time.Duration // how long clients may cache the page
	Private    bool          // it differs between principals
	Meta       Meta

	registered []registered[T]
}

// registered is an item of the server, with its encoded forms.
type registered[T any] struct {
	item  *T
	cache *jsonCache[T]
}

// add adds an item of the server.
func (l *ListResult[T]) add(item *T, cache *jsonCache[T]) {
	l.Items = append(l.Items, item)
	l.registered = append(l.registered, registered[T]{item, cache})
}

// listKeys are the members that hold the items.
var listKeys = map[string]string{
	"tools/list":               "tools",
	"prompts/list":             "prompts",
	"resources/list":           "resources",
	"resources/templates/list": "resourceTemplates",
}

// A list is any ListResult.
type list interface {
	appendFor(b []byte, r *Request) ([]byte, error)
}

// A listFor is a list as the response to a request.
type listFor struct {
	list
	r *Request
}

func (l listFor) append(b []byte) ([]byte, error) { return l.appendFor(b, l.r) }

// appendFor encodes the list for the revision of a request. Only items that are
// not the server's are encoded afresh.
func (l *ListResult[T]) appendFor(b []byte, r *Request) ([]byte, error) {
	key := listKeys[r.Method]
	if key == "" {
		key = "items"
	}
	b = append(appendMember(append(b, '{'), key), '[')
	known := l.registered
	for i, item := range l.Items {
		if i > 0 {
			b = append(b, ',')
		}
		at := slices.IndexFunc(known, func(k registered[T]) bool { return k.item == item })
		var text json.RawMessage
		var err error
		if at >= 0 {
			text, err = known[at].cache.get(r.Revision, func() *T { return shapeItem(item, r.Revision) })
			known = known[at+1:] // those that follow are likely to follow here too
		} else {
			text, err = jsonv2.Marshal(shapeItem(item, r.Revision), jsonv2.Deterministic(true))
		}
		if err != nil {
			return nil, err
		}
		b = append(b, text...)
	}
	b = appendText(append(b, ']'), "nextCursor", l.NextCursor)
	if r.Revision.Stateless() {
		hint := cacheHint{"public", l.TTL}
		if l.Private {
			hint.scope = "private"
		}
		b = hint.append(b)
	}
	return appendEnd(b, l.Meta)
}

// shapeItem returns an item for a client of revision r.
func shapeItem[T any](item *T, r Revision) *T {
	if t, ok := any(item).(*Tool); ok {
		return any(shapeTool(t, r)).(*T)
	}
	return item
}

// newList returns an empty page.
func newList[T any](s *Server, next string) *ListResult[T] {
	return &ListResult[T]{NextCursor: next, TTL: s.o.ListTTL, Private: s.o.Visible != nil}
}
