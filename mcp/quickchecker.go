package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A quickChecker validates against the simple schemas that most tools have:
// types, closed objects, required members and enums. Other values go to full
// validation.
type quickChecker struct {
	kind       string // "" means any
	properties map[string]*quickChecker
	required   []string
	additional bool // other members are allowed
	items      *quickChecker
	values     map[string]bool // allowed values of a string enum, as JSON
}

// newQuickChecker returns nil if the schema uses any other keyword.
func newQuickChecker(schema json.RawMessage) *quickChecker {
	q := &quickChecker{additional: true}
	for name, v := range jsonrpc.Members(schema) {
		switch name {
		case "title", "description", "default", "examples", "$comment", "format", "readOnly", "writeOnly", "deprecated", "x-mcp-header":
		case "type":
			if jsonv2.Unmarshal(v, &q.kind) != nil {
				return nil
			}
		case "properties":
			q.properties = map[string]*quickChecker{}
			for p, sub := range jsonrpc.Members(v) {
				property := newQuickChecker(sub)
				if property == nil {
					return nil
				}
				q.properties[strings.Clone(p)] = property
			}
		case "required":
			if jsonv2.Unmarshal(v, &q.required) != nil {
				return nil
			}
		case "additionalProperties":
			switch string(v) {
			case "false", `{"not":{}}`:
				q.additional = false
			case "true", "{}":
			default:
				return nil
			}
		case "items":
			if q.items = newQuickChecker(v); q.items == nil {
				return nil
			}
		case "enum":
			var values []string
			if jsonv2.Unmarshal(v, &values) != nil {
				return nil
			}
			q.values = map[string]bool{}
			for _, s := range values {
				q.values[string(appendString(nil, s))] = true
			}
		default:
			return nil
		}
	}
	if len(schema) == 0 || schema[0] != '{' {
		return nil
	}
	return q
}

// accepts reports whether a valid JSON value certainly matches.
func (q *quickChecker) accepts(v json.RawMessage) bool {
	if q.values != nil && !q.values[string(v)] {
		return false
	}
	switch q.kind {
	case "":
		return q.properties == nil && q.required == nil && q.items == nil && q.additional
	case "string":
		return v[0] == '"'
	case "boolean":
		return v[0] == 't' || v[0] == 'f'
	case "null":
		return v[0] == 'n'
	case "number":
		return v[0] == '-' || v[0] >= '0' && v[0] <= '9'
	case "integer":
		for i, c := range v {
			if (c < '0' || c > '9') && (i != 0 || c != '-') {
				return false
			}
		}
		return true
	case "array":
		return v[0] == '[' && (q.items == nil || q.acceptsItems(v))
	case "object":
		return v[0] == '{' && q.acceptsMembers(v)
	}
	return false
}

func (q *quickChecker) acceptsItems(v json.RawMessage) bool {
	for item := range jsonrpc.Elements(v) {
		if !q.items.accepts(item) {
			return false
		}
	}
	return true
}

func (q *quickChecker) acceptsMembers(v json.RawMessage) bool {
	found := 0
	for name, member := range jsonrpc.Members(v) {
		p, ok := q.properties[name]
		if !ok && !q.additional || ok && !p.accepts(member) {
			return false
		}
		if slices.Contains(q.required, name) {
			found++
		}
	}
	return found == len(q.required)
}

// violation describes why the value at the given path certainly does not match,
// or returns "" if that is uncertain.
func (q *quickChecker) violation(at string, v json.RawMessage) string {
	want, got := withArticle(q.kind), withArticle(kindOf(v))
	switch {
	case q.kind == "" || q.kind == "integer" && kindOf(v) == "number":
	case q.kind != kindOf(v):
		return prefixPath(at, "want "+want+", got "+got)
	case q.kind == "string" && q.values != nil && !q.values[string(v)] && bytes.IndexByte(v, '\\') < 0:
		return prefixPath(at, "want one of "+strings.Join(slices.Sorted(maps.Keys(q.values)), ", "))
	case q.kind == "array" && q.items != nil:
		i := 0
		for item := range jsonrpc.Elements(v) {
			if why := q.items.violation(fmt.Sprintf("%s[%d]", at, i), item); why != "" {
				return why
			}
			i++
		}
	case q.kind == "object":
		return q.violationInMembers(at, v)
	}
	return ""
}

func (q *quickChecker) violationInMembers(at string, v json.RawMessage) string {
	var found []string
	for name, member := range jsonrpc.Members(v) {
		p, ok := q.properties[name]
		if !ok && !q.additional {
			return prefixPath(at, fmt.Sprintf("unexpected %.64q", name))
		}
		if ok {
			found = append(found, name)
			where := name
			if at != "" {
				where = at + "." + name
			}
			if why := p.violation(where, member); why != "" {
				return why
			}
		}
	}
	for _, name := range q.required {
		if _, known := q.properties[name]; known && !slices.Contains(found, name) {
			return prefixPath(at, fmt.Sprintf("%q is missing", name))
		}
	}
	return ""
}

func prefixPath(at, why string) string {
	if at == "" {
		return why
	}
	return at + ": " + why
}

// kindOf returns the JSON Schema type of a valid value.
func kindOf(v json.RawMessage) string {
	switch v[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func withArticle(kind string) string {
	switch kind {
	case "null":
		return kind
	case "object", "array", "integer":
		return "an " + kind
	}
	return "a " + kind
}
