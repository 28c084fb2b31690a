package mcp

import (
	"encoding/json"
	"errors"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// An appender encodes itself as a JSON object.
type appender interface {
	append(b []byte) ([]byte, error)
}

// A cacheHint says how long and for whom a client may cache a result. The zero
// hint means none, as in older revisions.
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

// contentsHint returns the hint for the contents of a resource.
func contentsHint(r *Request) cacheHint {
	if !r.Revision.Stateless() {
		return cacheHint{}
	}
	return cacheHint{scope: "private"}
}

// resultComplete begins a complete result of revision 2026-07-28.
const resultComplete = `{"resultType":"complete"`

// encode encodes a result for the request's revision.
func (s *Server) encode(r *Request, res Result) (json.RawMessage, error) {
	switch v := res.(type) {
	case *ToolResult:
		if v == nil {
			v = &ToolResult{}
		}
		v = shapeToolResult(v, r.Revision)
		if res = v; r.Revision.outcome() {
			res = outcomeResult{v}
		}
	case *PromptResult:
		if v == nil {
			return nil, errors.New("the prompt handler returned no result")
		}
		res = shapePrompt(v, r.Revision)
	case *ResourceResult:
		if v == nil {
			return nil, errors.New("the resource handler returned no result")
		}
		res = &ResourceResult{Contents: v.Contents, Meta: v.Meta, cache: contentsHint(r)}
	case list:
		res = listFor{v, r}
	}
	if !r.Revision.Stateless() {
		return appendResult(newBuffer(estimateSize(res)), res)
	}
	b := append(newBuffer(estimateSize(res)+len(resultComplete)+len(s.infoJSON)), resultComplete...)
	start := len(b)
	b, err := appendResult(b, res)
	if err != nil {
		return nil, err
	}
	body := b[start:]
	if len(body) < 2 || body[0] != '{' {
		return nil, errors.New("mcp: result must encode to an object")
	}
	var hasType, hasMeta bool
	if _, ok := res.(*ToolResult); !ok || res.(*ToolResult).Meta != nil {
		for name := range rawjson.Members(body) {
			hasType = hasType || name == "resultType"
			hasMeta = hasMeta || name == "_meta"
		}
	}
	switch {
	case len(body) == 2: // {}
		b = b[:start]
	case hasType:
		b = body[:len(body)-1]
	default:
		body[0] = ','
		b = b[:len(b)-1]
	}
	if hasMeta {
		return s.addServerInfo(append(b, '}'))
	}
	b = append(b, `,"_meta":{"`+metaServerInfo+`":`...)
	b = append(b, s.infoJSON...)
	return append(b, "}}"...), nil
}

// addServerInfo adds the server info to a result that already has a _meta.
func (s *Server) addServerInfo(result json.RawMessage) (json.RawMessage, error) {
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

// estimateSize returns the approximate size of an encoded result.
func estimateSize(res Result) int {
	n := 96
	t, ok := res.(*ToolResult)
	if o, older := res.(outcomeResult); older {
		t, ok = o.ToolResult, true
	}
	if ok {
		for i := range t.Content {
			n += len(t.Content[i].Text) + 64
		}
		n += len(t.StructuredContent)
	}
	return n
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
	out, err := encodeUser(res)
	return append(b, out...), err
}
