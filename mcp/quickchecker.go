package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// A quickChecker validates against the simple schemas that most tools have:
// types, closed objects, required members, enums and limits. Other values go to
// full validation.
type quickChecker struct {
	kind       string // "" means any
	nullable   bool   // it may also be null
	properties map[string]*quickChecker
	required   []string
	additional bool          // other members are allowed
	others     *quickChecker // schema of other members; nil means any
	items      *quickChecker
	values     map[string]bool // allowed values of an enum, as JSON; nil means any
	limits     *limits         // nil means none
}

// maxQuickRequired is how many required members a quickChecker looks for, each in
// all of an object.
const maxQuickRequired = 256

// newQuickChecker returns nil if the schema uses any other keyword.
func newQuickChecker(schema json.RawMessage) *quickChecker {
	q := &quickChecker{additional: true}
	var value *quickChecker // the value of a schema that is this or null; see allowNull
	for name, v := range rawjson.Members(schema) {
		switch name {
		case "title", "description", "default", "examples", "$comment", "format", "readOnly", "writeOnly", "deprecated", "x-mcp-header", "contentEncoding", "contentMediaType":
		case "type":
			var kinds []string
			if jsonv2.Unmarshal(v, &kinds) == nil && len(kinds) == 2 && kinds[0] == "null" {
				q.kind, q.nullable = kinds[1], true
			} else if jsonv2.Unmarshal(v, &q.kind) != nil {
				return nil
			}
		case "properties":
			q.properties = map[string]*quickChecker{}
			for p, sub := range rawjson.Members(v) {
				property := newQuickChecker(sub)
				if property == nil {
					return nil
				}
				q.properties[strings.Clone(p)] = property
			}
		case "required":
			if jsonv2.Unmarshal(v, &q.required) != nil || len(q.required) > maxQuickRequired {
				return nil
			}
		case "additionalProperties":
			switch string(v) {
			case "false", `{"not":{}}`:
				q.additional = false
			case "true", "{}":
			default:
				if q.others = newQuickChecker(v); q.others == nil {
					return nil
				}
			}
		case "items":
			if q.items = newQuickChecker(v); q.items == nil {
				return nil
			}
		case "enum":
			if q.values != nil {
				return nil
			}
			q.values = map[string]bool{}
			for value := range rawjson.Elements(v) {
				q.addValue(value)
			}
		case "anyOf":
			other := notNull(v)
			if other == nil {
				return nil
			}
			if value = newQuickChecker(other); value == nil {
				return nil
			}
		case "oneOf":
			if q.values != nil || !q.addTitled(v) {
				return nil
			}
		default:
			if q.limits == nil {
				q.limits = &limits{}
			}
			if !q.limits.set(name, v) {
				return nil
			}
		}
	}
	if len(schema) == 0 || schema[0] != '{' {
		return nil
	}
	if value != nil {
		if !reflect.DeepEqual(q, &quickChecker{additional: true}) {
			return nil
		}
		if value.nullable = true; value.values != nil {
			value.values["null"] = true
		}
		return value
	}
	return q
}

// notNull returns the other one of two alternatives of which the first is null, or
// nil; see allowNull.
func notNull(anyOf json.RawMessage) json.RawMessage {
	alternatives := slices.Collect(rawjson.Elements(anyOf))
	if len(alternatives) != 2 || string(alternatives[0]) != `{"type":"null"}` {
		return nil
	}
	return alternatives[1]
}

// addValue adds an allowed value, in the form that most clients write.
func (q *quickChecker) addValue(v json.RawMessage) {
	if v[0] == '"' {
		v = appendString(nil, rawjson.Text(v))
	}
	q.values[string(v)] = true
}

// addTitled adds the values of choices with titles. It reports whether they are
// nothing else.
func (q *quickChecker) addTitled(choices json.RawMessage) bool {
	q.values = map[string]bool{}
	n := 0
	for choice := range rawjson.Elements(choices) {
		n++
		if string(choice) == `{"type":"null"}` {
			q.values["null"] = true
			continue
		}
		for name, v := range rawjson.Members(choice) {
			switch {
			case name == "const" && v[0] == '"':
				q.addValue(v)
			case name != "title" && name != "description":
				return false
			}
		}
	}
	return n == len(q.values)
}

// accepts reports whether a valid JSON value certainly matches.
func (q *quickChecker) accepts(v json.RawMessage) bool {
	if q.nullable && v[0] == 'n' {
		return q.values == nil || q.values["null"]
	}
	if q.values != nil && !q.values[string(v)] {
		return false
	}
	if q.limits != nil {
		if why, certain := q.limits.violation(v); why != "" || !certain {
			return false
		}
	}
	switch q.kind {
	case "":
		return q.properties == nil && q.required == nil && q.items == nil && q.additional && q.others == nil && q.limits == nil
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
		return v[0] == '[' && (q.items == nil && q.limits == nil || q.acceptsItems(v))
	case "object":
		return v[0] == '{' && q.acceptsMembers(v)
	}
	return false
}

func (q *quickChecker) acceptsItems(v json.RawMessage) bool {
	n := 0
	for item := range rawjson.Elements(v) {
		if n++; q.items != nil && !q.items.accepts(item) {
			return false
		}
	}
	return q.limits == nil || q.limits.lengthViolation(n) == "" && (!q.limits.unique || n < 2)
}

func (q *quickChecker) acceptsMembers(v json.RawMessage) bool {
	found := 0
	for name, member := range rawjson.Members(v) {
		p, ok := q.properties[name]
		if !ok {
			p = q.others
		}
		if !ok && !q.additional || p != nil && !p.accepts(member) {
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
	case q.kind == "", q.nullable && v[0] == 'n':
	case q.kind == "integer" && kindOf(v) == "number" && !isInteger(v):
	case (q.kind == "integer" || q.kind == "number") && kindOf(v) == "number":
		if q.limits != nil {
			if why, _ := q.limits.violation(v); why != "" {
				return prefixPath(at, why)
			}
		}
	case q.kind != kindOf(v):
		return prefixPath(at, "want "+want+", got "+got)
	case q.kind == "string" && q.values != nil && !q.values[string(v)] && bytes.IndexByte(v, '\\') < 0:
		allowed := slices.DeleteFunc(slices.Sorted(maps.Keys(q.values)), func(v string) bool { return v == "null" })
		return prefixPath(at, "want one of "+strings.Join(allowed, ", "))
	case q.kind == "string" && q.limits != nil:
		if why := q.limits.textViolation(v); why != "" {
			return prefixPath(at, why)
		}
	case q.kind == "array" && (q.items != nil || q.limits != nil):
		i := 0
		for item := range rawjson.Elements(v) {
			if q.items != nil {
				if why := q.items.violation(fmt.Sprintf("%s[%d]", at, i), item); why != "" {
					return why
				}
			}
			i++
		}
		if q.limits != nil {
			if why := q.limits.lengthViolation(i); why != "" {
				return prefixPath(at, why)
			}
		}
	case q.kind == "object":
		return q.violationInMembers(at, v)
	}
	return ""
}

func (q *quickChecker) violationInMembers(at string, v json.RawMessage) string {
	var found []string
	for name, member := range rawjson.Members(v) {
		p, ok := q.properties[name]
		if !ok && !q.additional {
			return prefixPath(at, fmt.Sprintf("unexpected %.64q", name))
		}
		if !ok {
			p = q.others
		}
		if p != nil {
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

// isInteger reports whether a number is written as an integer.
func isInteger(v json.RawMessage) bool { return !bytes.ContainsAny(v, ".eE") }

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
