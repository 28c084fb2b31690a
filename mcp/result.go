package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// An appender writes itself as a JSON object.
type appender interface {
	append(b []byte) ([]byte, error)
}

// A listResult is one page of a list.
type listResult struct {
	key   string // the member that holds the items
	items []json.RawMessage
	next  string
	cache cacheHint
}

func (l *listResult) append(b []byte) ([]byte, error) {
	b = appendMember(append(b, '{'), l.key)
	b = append(b, '[')
	for i, item := range l.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	b = append(b, ']')
	b = appendText(b, "nextCursor", l.next)
	return append(l.cache.append(b), '}'), nil
}

// A cacheHint says how long a client may keep an answer, and for whom. The zero
// hint is none: readers of older revisions do not know it.
type cacheHint struct {
	scope string
	ttl   time.Duration
}

func (c cacheHint) append(b []byte) []byte {
	if c.scope == "" {
		return b
	}
	b = appendMember(b, "ttlMs")
	ms, _ := jsonv2.Marshal(max(0, c.ttl.Milliseconds()))
	return appendText(append(b, ms...), "cacheScope", c.scope)
}

// cache is the hint for a list or for what a principal may read.
func (s *Server) cache(r *Request, ttl time.Duration) cacheHint {
	switch {
	case !r.Revision.Stateless():
		return cacheHint{}
	case s.o.Visible != nil || ttl == 0:
		return cacheHint{"private", ttl}
	}
	return cacheHint{"public", ttl}
}

// A complete result of revision 2026-07-28 says so, and who made it.
const resultComplete = `{"resultType":"complete"`

// encode writes a result in the shape of the request's revision.
func (s *Server) encode(r *Request, res Result) (json.RawMessage, error) {
	switch v := res.(type) {
	case *ToolResult:
		if v == nil {
			v = &ToolResult{}
		}
		res = shapeToolResult(v, r.Revision)
	case *PromptResult:
		if v == nil {
			return nil, errors.New("the prompt's handler returned nothing")
		}
		res = shapePrompt(v, r.Revision)
	}
	if !r.Revision.Stateless() {
		return appendResult(newBuffer(sizeOf(res)), res)
	}
	b := append(newBuffer(sizeOf(res)+len(resultComplete)+len(s.infoJSON)), resultComplete...)
	start := len(b)
	b, err := appendResult(b, res)
	if err != nil {
		return nil, err
	}
	own := b[start:]
	if len(own) < 2 || own[0] != '{' {
		return nil, errors.New("mcp: a result must encode to an object")
	}
	var typed, marked bool
	if _, ok := res.(*ToolResult); !ok || res.(*ToolResult).Meta != nil {
		for name := range jsonrpc.Members(own) {
			typed = typed || name == "resultType"
			marked = marked || name == "_meta"
		}
	}
	switch {
	case len(own) == 2: // {}
		b = b[:start]
	case typed:
		b = own[:len(own)-1]
	default:
		own[0] = ','
		b = b[:len(b)-1]
	}
	if marked {
		return s.signed(append(b, '}'))
	}
	b = append(b, `,"_meta":{"`+metaServerInfo+`":`...)
	b = append(b, s.infoJSON...)
	return append(b, "}}"...), nil
}

// signed adds who we are to a result that has a _meta of its own.
func (s *Server) signed(result json.RawMessage) (json.RawMessage, error) {
	return editMembers(result, func(name string, v json.RawMessage) (json.RawMessage, error) {
		if name != "_meta" {
			return v, nil
		}
		meta := map[string]json.RawMessage{}
		if err := jsonv2.Unmarshal(v, &meta); err != nil {
			return nil, err
		}
		meta[metaServerInfo] = s.infoJSON
		return jsonv2.Marshal(meta, jsonv2.Deterministic(true))
	})
}

// sizeOf guesses how much room a result takes.
func sizeOf(res Result) int {
	n := 96
	if t, ok := res.(*ToolResult); ok {
		for i := range t.Content {
			n += len(t.Content[i].Text) + 64
		}
		n += len(t.StructuredContent)
	}
	return n
}

// A pool keeps pointers, so a buffer goes in with one; those that are not in use
// are kept as well.
var buffers, pointers sync.Pool // of *[]byte

// newBuffer is room for a result, and perhaps not new.
func newBuffer(size int) []byte {
	if p, ok := buffers.Get().(*[]byte); ok {
		b := *p
		*p = nil
		pointers.Put(p)
		if cap(b) >= size {
			return b[:0]
		}
	}
	return make([]byte, 0, max(size, 512))
}

// Reuse takes back the memory of a result of Handle's that has been sent. The
// caller must not look at it again.
func Reuse(result json.RawMessage) {
	const most = 1 << 20 // or one large result would stay for ever
	if cap(result) > most {
		return
	}
	p, ok := pointers.Get().(*[]byte)
	if !ok {
		p = new([]byte)
	}
	*p = result
	buffers.Put(p)
}

func appendResult(b []byte, res Result) ([]byte, error) {
	switch v := res.(type) {
	case nil:
		return append(b, "{}"...), nil
	case appender:
		return v.append(b)
	case json.RawMessage:
		return append(b, v...), nil
	}
	out, err := jsonv2.Marshal(res, jsonv2.Deterministic(true))
	return append(b, out...), err
}

// failure turns an error into what the client is told.
func (s *Server) failure(ctx context.Context, r *Request, err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	_, isTool := errors.AsType[*ToolError](err)
	if cause := context.Cause(ctx); cause != nil && (isTool || errors.Is(err, cause) || errors.Is(err, ctx.Err())) {
		if errors.Is(cause, jsonrpc.ErrClosed) {
			return jsonrpc.Errorf(jsonrpc.CodeInternal, "the conversation ended before the request was done")
		}
		return cause
	}
	if isTool || errors.Is(err, ErrDeclined) || errors.Is(err, ErrDismissed) { // nothing has gone wrong here
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", err)
	}
	if errors.Is(err, ErrNotFound) {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s", err)
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", s.internal(ctx, r, err))
}

// internal logs an error that is not for the client, and gives the client a
// reference to it.
func (s *Server) internal(ctx context.Context, r *Request, err error) string {
	ref := rand.Text()[:10]
	s.log.ErrorContext(ctx, "request failed", "ref", ref, "method", r.Method, "revision", r.Revision.String(), "err", err)
	return "internal error, ref " + ref
}

// A panicked error is a panic of a handler's.
type panicked struct{ value any }

func (p *panicked) Error() string { return "panic" }

// guarded runs a handler and turns a panic into an error.
func (s *Server) guarded(ctx context.Context, r *Request, h Handler) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, s.recovered(v)
		}
	}()
	return h(ctx, r)
}

func (s *Server) recovered(v any) error {
	stack := debug.Stack()
	s.log.Error("handler panicked", "value", v, "stack", string(stack))
	if s.o.Observer.Panic != nil {
		s.o.Observer.Panic(v, stack)
	}
	return &panicked{v}
}
