package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// schemaFor infers the schema of a tool's arguments or answer. It panics if the
// type is not fit for it, since that is for the programmer to mend.
func schemaFor[T any](tool string, input bool) json.RawMessage {
	s, err := infer(reflect.TypeFor[T](), input)
	if err == nil && input && s.Type != "object" {
		err = fmt.Errorf("arguments must be a struct or a map")
	}
	if err != nil {
		panic(fmt.Sprintf("mcp: tool %s: schema of %s: %v", tool, reflect.TypeFor[T](), err))
	}
	b, err := s.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("mcp: tool %s: schema of %s: %v", tool, reflect.TypeFor[T](), err))
	}
	return b
}

// An enumerated type has few values, all known.
type enumerated interface{ Enum() []string }

// infer makes the schema of a Go type: what jsonschema-go infers, but only a
// pointer that is written even when it is nil may be null, bytes are text in
// base64, and a type with a method Enum() []string is an enumeration. With
// described set, every property needs a description.
func infer(t reflect.Type, described bool) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		return nil, err
	}
	return s, polish(t, s, described, true, "")
}

// dropNull makes ["null", "array"] and the like just the one type.
func dropNull(s *jsonschema.Schema) {
	kinds := slices.DeleteFunc(slices.Clone(s.Types), func(k string) bool { return k == "null" })
	if len(kinds) == 1 {
		s.Type, s.Types = kinds[0], nil
		s.Enum = slices.DeleteFunc(s.Enum, func(v any) bool { return v == nil })
	}
}

// polish goes through a schema along with its type. A pointer that is optional is
// left out when it is nil.
func polish(t reflect.Type, s *jsonschema.Schema, described, optional bool, at string) error {
	if t.Kind() != reflect.Pointer || optional {
		dropNull(s)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage](): // anything
		*s = jsonschema.Schema{Description: s.Description}
		return nil
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8:
		*s = jsonschema.Schema{Type: "string", ContentEncoding: "base64", Description: s.Description}
		return nil
	}
	if e, ok := reflect.Zero(t).Interface().(enumerated); ok && t.Kind() == reflect.String {
		s.Enum = nil
		for _, v := range e.Enum() {
			s.Enum = append(s.Enum, v)
		}
		if slices.Contains(s.Types, "null") {
			s.Enum = append(s.Enum, nil)
		}
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			return polish(t.Elem(), s.Items, described, false, at+"[]")
		}
	case reflect.Map:
		if s.AdditionalProperties != nil {
			return polish(t.Elem(), s.AdditionalProperties, described, false, at+"{}")
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, how, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			p := s.Properties[name]
			if p == nil || f.Anonymous {
				continue
			}
			if described && p.Description == "" {
				return fmt.Errorf("field %s%s needs a description: `jsonschema:\"…\"`", at, f.Name)
			}
			if err := polish(f.Type, p, described, strings.Contains(how, "omit"), at+f.Name+"."); err != nil {
				return err
			}
		}
	}
	return nil
}

// formFor makes the form for a question: of a struct's fields, or of one field
// named by the question's key when T is a value alone.
func formFor[T any](key string) (schema json.RawMessage, alone bool, err error) {
	t := reflect.TypeFor[T]()
	s, err := infer(t, false)
	if err != nil {
		return nil, false, fmt.Errorf("form %q: %w", key, err)
	}
	if s.Type != "object" {
		alone = true
		s = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{key: s}, Required: []string{key}}
	}
	s.AdditionalProperties = nil
	for name, p := range s.Properties {
		dropNull(p) // a form has no way to say it
		if p.Type == "object" || p.Type == "" || p.Type == "array" && (p.Items == nil || p.Items.Type != "string" || p.Items.Enum == nil) {
			return nil, false, fmt.Errorf("form %q: field %s is not a string, number, boolean or choice", key, name)
		}
	}
	schema, err = s.MarshalJSON()
	return schema, alone, err
}

// A checker checks JSON against a schema.
type checker struct {
	full  *jsonschema.Resolved
	quick *quick // nil when the schema says more than quick understands
}

// newChecker prepares a schema. References to other documents are refused.
func newChecker(schema json.RawMessage) (*checker, error) {
	s := new(jsonschema.Schema)
	if err := s.UnmarshalJSON(schema); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	full, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("not a usable JSON Schema: %w", err)
	}
	return &checker{full: full, quick: newQuick(schema)}, nil
}

// A small JSON can be a large heap: looking at a value in full takes up to fifty
// times its size. So only a few large ones are looked at at a time; more would not
// be faster.
const heavyValue = 64 << 10

var heavy = make(chan struct{}, 4)

// check reports what is wrong with a value, in words a model can act on.
func (c *checker) check(value json.RawMessage) error {
	if c.quick != nil {
		if c.quick.accepts(value) {
			return nil
		}
		if why := c.quick.misfit("", value); why != "" {
			return errors.New(why)
		}
	}
	if len(value) > heavyValue {
		heavy <- struct{}{}
		defer func() { <-heavy }()
	}
	var v any
	if err := jsonv2.Unmarshal(value, &v, anyNumber); err != nil {
		return fmt.Errorf("%s", plainError(err))
	}
	if err := c.full.Validate(v); err != nil {
		return errors.New(plainMisfit(err.Error()))
	}
	return nil
}

// anyNumber reads a number beyond float64 as the largest there is: whether the
// tool can do with it is not for the JSON reader to say.
var anyNumber = jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	f, _ := strconv.ParseFloat(string(text), 64) // the error only says that it is infinite
	*v = min(max(f, -math.MaxFloat64), math.MaxFloat64)
	return nil
}))

var misfitSteps = regexp.MustCompile(`validating (?:root|/\S*?([^/\s]+)): `)

// plainMisfit says what jsonschema-go says, with the property's name in place of
// the way through the schema.
func plainMisfit(text string) string {
	at := ""
	for _, step := range misfitSteps.FindAllStringSubmatch(text, -1) {
		if step[1] != "" {
			at = step[1]
		}
	}
	text = misfitSteps.ReplaceAllString(text, "")
	for _, keyword := range []string{"type: ", "required: "} { // the rest says it
		text = strings.TrimPrefix(text, keyword)
	}
	if at != "" {
		text = at + ": " + text
	}
	const most = 300 // it may hold the whole value
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// A quick checker knows the plain schemas that most tools have: types, closed
// objects and required members. What it is not sure of is looked at in full.
type quick struct {
	kind       string // "" is any value
	properties map[string]*quick
	required   []string
	open       bool // members that are not named may be there
	items      *quick
	values     map[string]bool // the JSON texts of an enum of strings
}

// newQuick returns nil for a schema that says anything else.
func newQuick(schema json.RawMessage) *quick {
	q := &quick{open: true}
	for name, v := range jsonrpc.Members(schema) {
		switch name {
		case "title", "description", "default", "examples", "$comment", "format", "readOnly", "writeOnly", "deprecated", "x-mcp-header":
		case "type":
			if jsonv2.Unmarshal(v, &q.kind) != nil {
				return nil
			}
		case "properties":
			q.properties = map[string]*quick{}
			for p, sub := range jsonrpc.Members(v) {
				property := newQuick(sub)
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
				q.open = false
			case "true", "{}":
			default:
				return nil
			}
		case "items":
			if q.items = newQuick(v); q.items == nil {
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

// accepts reports whether the value surely fits. The value is valid JSON.
func (q *quick) accepts(v json.RawMessage) bool {
	if q.values != nil && !q.values[string(v)] {
		return false
	}
	switch q.kind {
	case "":
		return q.properties == nil && q.required == nil && q.items == nil && q.open
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

func (q *quick) acceptsItems(v json.RawMessage) bool {
	for item := range jsonrpc.Elements(v) {
		if !q.items.accepts(item) {
			return false
		}
	}
	return true
}

func (q *quick) acceptsMembers(v json.RawMessage) bool {
	found := 0
	for name, member := range jsonrpc.Members(v) {
		p, ok := q.properties[name]
		if !ok && !q.open || ok && !p.accepts(member) {
			return false
		}
		if slices.Contains(q.required, name) {
			found++
		}
	}
	return found == len(q.required)
}

// misfit says what surely does not fit, and "" if nothing surely does. At is
// where the value stands.
func (q *quick) misfit(at string, v json.RawMessage) string {
	want, got := aKind(q.kind), aKind(kindOf(v))
	switch {
	case q.kind == "" || q.kind == "integer" && kindOf(v) == "number":
	case q.kind != kindOf(v):
		return placed(at, "want "+want+", got "+got)
	case q.kind == "string" && q.values != nil && !q.values[string(v)] && bytes.IndexByte(v, '\\') < 0:
		return placed(at, "want one of "+strings.Join(slices.Sorted(maps.Keys(q.values)), ", "))
	case q.kind == "array" && q.items != nil:
		i := 0
		for item := range jsonrpc.Elements(v) {
			if why := q.items.misfit(fmt.Sprintf("%s[%d]", at, i), item); why != "" {
				return why
			}
			i++
		}
	case q.kind == "object":
		return q.misfitMembers(at, v)
	}
	return ""
}

func (q *quick) misfitMembers(at string, v json.RawMessage) string {
	var found []string
	for name, member := range jsonrpc.Members(v) {
		p, ok := q.properties[name]
		if !ok && !q.open {
			return placed(at, fmt.Sprintf("unexpected %.64q", name))
		}
		if ok {
			found = append(found, name)
			where := name
			if at != "" {
				where = at + "." + name
			}
			if why := p.misfit(where, member); why != "" {
				return why
			}
		}
	}
	for _, name := range q.required {
		if _, known := q.properties[name]; known && !slices.Contains(found, name) {
			return placed(at, fmt.Sprintf("%q is missing", name))
		}
	}
	return ""
}

func placed(at, why string) string {
	if at == "" {
		return why
	}
	return at + ": " + why
}

// kindOf is the JSON Schema type of a valid value.
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

func aKind(kind string) string {
	switch kind {
	case "null":
		return kind
	case "object", "array", "integer":
		return "an " + kind
	}
	return "a " + kind
}
