package mcp

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// An inferrer infers the JSON Schema of a Go type: what userCodec decodes from, or
// what it encodes to.
type inferrer struct {
	input     bool // for decoding; otherwise for encoding
	described bool // fields need a description

	stack []reflect.Type // types that the current one is part of
	defs  map[string]*jsonschema.Schema
	names map[reflect.Type]string // of recursive types in defs
	queue []reflect.Type          // recursive types that are not in defs yet
}

// infer returns the schema of a type. Types are inlined. One that contains itself
// is a reference into $defs for decoding, and an open object for encoding, because
// many clients do not support references in output schemas. An error begins with
// the path of the field.
func (f *inferrer) infer(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := f.typ(t, "")
	for err == nil && len(f.queue) > 0 {
		next := f.queue[0]
		f.queue = f.queue[1:]
		f.defs[f.names[next]], err = f.typ(next, next.Name())
	}
	if err != nil {
		return nil, err
	}
	s.Defs = f.defs
	return s, nil
}

// A schemaer is a type that has its own schema.
type schemaer interface{ JSONSchema() json.RawMessage }

// An enumType is a string type with a fixed set of values.
type enumType interface{ Enum() []string }

// A titledType is an enumType whose values have titles for people.
type titledType interface{ Title() string }

func newSchema(kind string) *jsonschema.Schema { return &jsonschema.Schema{Type: kind} }

// knownTypes are types of the standard library with methods of their own.
var knownTypes = map[reflect.Type]func() *jsonschema.Schema{
	reflect.TypeFor[time.Time](): func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	},
	reflect.TypeFor[json.RawMessage](): func() *jsonschema.Schema { return newSchema("") },
	reflect.TypeFor[jsontext.Value]():  func() *jsonschema.Schema { return newSchema("") },
	reflect.TypeFor[json.Number]():     func() *jsonschema.Schema { return newSchema("number") },
	reflect.TypeFor[big.Int]():         func() *jsonschema.Schema { return newSchema("integer") },
	reflect.TypeFor[slog.Level]():      func() *jsonschema.Schema { return newSchema("string") },
}

// implements reports whether a type or a pointer to it implements I.
func implements[I any](t reflect.Type) bool {
	i := reflect.TypeFor[I]()
	return t.Implements(i) || reflect.PointerTo(t).Implements(i)
}

// typ returns the schema of a type, without null for a pointer. at is the path of
// the field.
func (f *inferrer) typ(t reflect.Type, at string) (*jsonschema.Schema, error) {
	for range 4 {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	if known := knownTypes[t]; known != nil {
		return known(), nil
	}
	if slices.Contains(f.stack, t) {
		return f.recursive(t), nil
	}
	if t.Name() != "" {
		f.stack = append(f.stack, t)
		defer func() { f.stack = f.stack[:len(f.stack)-1] }()
	}
	v := reflect.New(t)
	if own, ok := v.Interface().(schemaer); ok {
		s := new(jsonschema.Schema)
		if err := s.UnmarshalJSON(own.JSONSchema()); err != nil {
			return nil, fieldError(at, "JSONSchema of %s: %w", t, err)
		}
		return s, nil
	}
	if t.Kind() == reflect.Interface {
		if t.NumMethod() > 0 && f.input || t == reflect.TypeFor[error]() {
			return nil, fieldError(at, "%s is an interface, which has no JSON form", t)
		}
		return newSchema(""), nil
	}
	if e, ok := v.Elem().Interface().(enumType); ok && t.Kind() == reflect.String {
		return enumSchema(t, e.Enum()), nil
	}
	if text, err := f.methods(t, at); text || err != nil {
		return newSchema("string"), err
	}
	switch t.Kind() {
	case reflect.Bool:
		return newSchema("boolean"), nil
	case reflect.Int, reflect.Int64:
		return newSchema("integer"), nil
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return integer(0, math.Inf(1)), nil
	case reflect.Int8:
		return integer(math.MinInt8, math.MaxInt8), nil
	case reflect.Int16:
		return integer(math.MinInt16, math.MaxInt16), nil
	case reflect.Int32:
		return integer(math.MinInt32, math.MaxInt32), nil
	case reflect.Uint8:
		return integer(0, math.MaxUint8), nil
	case reflect.Uint16:
		return integer(0, math.MaxUint16), nil
	case reflect.Uint32:
		return integer(0, math.MaxUint32), nil
	case reflect.Float32, reflect.Float64:
		return newSchema("number"), nil
	case reflect.String:
		return newSchema("string"), nil
	case reflect.Slice, reflect.Array:
		return f.array(t, at)
	case reflect.Map:
		return f.object(t, at)
	case reflect.Struct:
		return f.structure(t, at)
	}
	return nil, fieldError(at, "%s has no JSON form", t)
}

func fieldError(at, format string, args ...any) error {
	if at == "" {
		return fmt.Errorf(format, args...)
	}
	return fmt.Errorf("field %s: "+format, append([]any{at}, args...)...)
}

func integer(from, to float64) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "integer", Minimum: &from}
	if !math.IsInf(to, 1) {
		s.Maximum = &to
	}
	return s
}

// methods reports whether a type is text, because of its methods. A type that
// writes or reads JSON itself could be anything, and is an error.
func (f *inferrer) methods(t reflect.Type, at string) (text bool, err error) {
	writes := implements[jsonv2.Marshaler](t) || implements[jsonv2.MarshalerTo](t)
	reads := implements[jsonv2.Unmarshaler](t) || implements[jsonv2.UnmarshalerFrom](t)
	if writes || reads && f.input {
		return false, fieldError(at, "%s has its own JSON form: it needs a method JSONSchema() json.RawMessage", t)
	}
	writes, reads = implements[encoding.TextMarshaler](t), implements[encoding.TextUnmarshaler](t)
	if f.input && writes && !reads {
		return false, fieldError(at, "%s has a method MarshalText, and needs UnmarshalText", t)
	}
	return writes || reads && f.input, nil
}

// recursive returns the schema of a type that is part of itself.
func (f *inferrer) recursive(t reflect.Type) *jsonschema.Schema {
	if !f.input {
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			return newSchema("array")
		}
		return newSchema("object")
	}
	name, ok := f.names[t]
	if !ok {
		plain := strings.Map(func(r rune) rune {
			if r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' {
				return r
			}
			return '_'
		}, t.Name())
		for name = plain; f.defs[name] != nil; {
			name = fmt.Sprint(plain, len(f.defs)+1)
		}
		put(&f.defs, name, newSchema("")) // until it is inferred
		if f.names == nil {
			f.names = map[reflect.Type]string{}
		}
		f.names[t] = name
		f.queue = append(f.queue, t)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// enumSchema returns the schema of an enumeration.
func enumSchema(t reflect.Type, values []string) *jsonschema.Schema {
	s := newSchema("string")
	v := reflect.New(t).Elem()
	for _, value := range values {
		v.SetString(value)
		if titled, ok := v.Interface().(titledType); ok {
			s.OneOf = append(s.OneOf, &jsonschema.Schema{Const: new(any(value)), Title: titled.Title()})
		} else {
			s.Enum = append(s.Enum, value)
		}
	}
	return s
}

func (f *inferrer) array(t reflect.Type, at string) (*jsonschema.Schema, error) {
	if e := t.Elem(); t.Kind() == reflect.Slice && e.Kind() == reflect.Uint8 && !implements[jsonv2.Marshaler](e) && !implements[encoding.TextMarshaler](e) {
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}, nil
	}
	items, err := f.element(t.Elem(), at+"[]")
	if err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{Type: "array", Items: items}
	if t.Kind() == reflect.Array {
		s.MinItems, s.MaxItems = new(t.Len()), new(t.Len())
	}
	return s, nil
}

// element returns the schema of the elements of an array or the values of a map. A
// handler does not expect nil among them.
func (f *inferrer) element(t reflect.Type, at string) (*jsonschema.Schema, error) {
	s, err := f.typ(t, at)
	if err == nil && t.Kind() == reflect.Pointer && !f.input {
		allowNull(s)
	}
	return s, err
}

func (f *inferrer) object(t reflect.Type, at string) (*jsonschema.Schema, error) {
	s := newSchema("object")
	key, text := t.Key(), implements[encoding.TextMarshaler](t.Key())
	switch {
	case implements[jsonv2.Marshaler](key):
		return nil, fieldError(at, "map key %s has its own JSON form", key)
	case key.Kind() == reflect.String:
	case text && (!f.input || implements[encoding.TextUnmarshaler](key)):
	case text:
		return nil, fieldError(at, "map key %s needs a method UnmarshalText", key)
	case key.Kind() >= reflect.Int && key.Kind() <= reflect.Uintptr:
		if f.input {
			s.PropertyNames = &jsonschema.Schema{Pattern: integerPattern(key)}
		}
	default:
		return nil, fieldError(at, "map key %s cannot be the name of a JSON member", key)
	}
	values, err := f.element(t.Elem(), at+"{}")
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(values, newSchema("")) { // anything
		s.AdditionalProperties = values
	}
	return s, nil
}

// integerPattern matches the integers of a type, as text.
func integerPattern(t reflect.Type) string {
	if t.Kind() >= reflect.Uint {
		return "^(0|[1-9][0-9]*)$"
	}
	return "^(0|-?[1-9][0-9]*)$"
}

func (f *inferrer) structure(t reflect.Type, at string) (*jsonschema.Schema, error) {
	// Decoding an empty object fails only if there is something wrong with the type.
	if err := jsonv2.Unmarshal([]byte("{}"), reflect.New(t).Interface(), userIn); err != nil {
		if e, ok := errors.AsType[*jsonv2.SemanticError](err); ok && e.Err != nil {
			err = e.Err
		}
		return nil, fieldError(at, "%s: %w", t, err)
	}
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	fields, err := f.fields(t)
	if err != nil {
		return nil, fieldError(at, "%w", err)
	}
	for _, field := range fields {
		where := strings.TrimPrefix(at+"."+field.Name, ".")
		p, err := f.property(&field, where)
		if err != nil {
			return nil, err
		}
		put(&s.Properties, field.name, p)
		s.PropertyOrder = append(s.PropertyOrder, field.name)
		if !field.omits && p.Default == nil && (f.input || !field.behindPointer) {
			s.Required = append(s.Required, field.name)
		}
	}
	return s, nil
}

// property returns the schema of a field, with its tags.
func (f *inferrer) property(field *jsonField, at string) (*jsonschema.Schema, error) {
	p, err := f.typ(field.Type, at)
	if err != nil {
		return nil, err
	}
	if field.quoted {
		if p = quotedSchema(field.Type); p == nil {
			return nil, fieldError(at, "the json option string is not for %s", field.Type)
		}
	}
	if err := applyTags(field.Tag, p, at); err != nil {
		return nil, err
	}
	if f.described && p.Description == "" {
		return nil, fmt.Errorf("field %s needs a description: `jsonschema:\"…\"`", at)
	}
	if t := field.Type; t.Kind() == reflect.Pointer {
		omitted := field.omits && t.Elem().Kind() != reflect.Pointer || f.input && (field.omits || p.Default != nil)
		if !omitted {
			allowNull(p)
		}
	}
	return p, nil
}

// allowNull makes a schema accept null too. A list of types would be shorter, but
// not every model provider supports it.
func allowNull(s *jsonschema.Schema) {
	if s.Type == "" && s.Ref == "" {
		return // anything, or what the type's own schema says
	}
	value := *s
	value.Title, value.Description, value.Default, value.Examples = "", "", nil, nil
	*s = jsonschema.Schema{
		Title: s.Title, Description: s.Description, Default: s.Default, Examples: s.Examples,
		AnyOf: []*jsonschema.Schema{newSchema("null"), &value},
	}
}

// dropNull reverts allowNull.
func dropNull(s *jsonschema.Schema) {
	if len(s.AnyOf) != 2 || s.AnyOf[0].Type != "null" {
		return
	}
	value := *s.AnyOf[1]
	value.Title, value.Description, value.Default, value.Examples = s.Title, s.Description, s.Default, s.Examples
	*s = value
}

// quotedSchema returns the schema of a field with the json option string, or nil
// if the option does not apply to its type.
func quotedSchema(t reflect.Type) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if knownTypes[t] != nil || implements[schemaer](t) || implements[enumType](t) || implements[jsonv2.Marshaler](t) || implements[encoding.TextMarshaler](t) {
		return nil
	}
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return &jsonschema.Schema{Type: "string", Enum: []any{"false", "true"}}
	case k >= reflect.Int && k <= reflect.Uintptr:
		return &jsonschema.Schema{Type: "string", Pattern: integerPattern(t)}
	case k == reflect.Float32 || k == reflect.Float64:
		return &jsonschema.Schema{Type: "string", Pattern: `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`}
	case k == reflect.String:
		return &jsonschema.Schema{Type: "string", ContentMediaType: "application/json"}
	}
	return nil
}
