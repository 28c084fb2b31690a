package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaFor infers the schema of a tool's arguments or result. It panics if the
// type is not suitable, which is a programming error.
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

// An enumType is a string type with a fixed set of values.
type enumType interface{ Enum() []string }

// infer returns the schema of a Go type: that of jsonschema-go, but only a
// pointer that is encoded even when nil may be null, bytes are base64 text, and
// a type with a method Enum() []string is an enumeration. If described is set,
// every property needs a description.
func infer(t reflect.Type, described bool) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		return nil, err
	}
	return s, refine(t, s, described, true, "")
}

// dropNull reduces types such as ["null", "array"] to the single type.
func dropNull(s *jsonschema.Schema) {
	kinds := slices.DeleteFunc(slices.Clone(s.Types), func(k string) bool { return k == "null" })
	if len(kinds) == 1 {
		s.Type, s.Types = kinds[0], nil
		s.Enum = slices.DeleteFunc(s.Enum, func(v any) bool { return v == nil })
	}
}

// refine adjusts a schema to its Go type, recursively. optional means that a
// nil pointer is omitted.
func refine(t reflect.Type, s *jsonschema.Schema, described, optional bool, at string) error {
	if t.Kind() != reflect.Pointer || optional {
		dropNull(s)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage](): // any value
		*s = jsonschema.Schema{Description: s.Description}
		return nil
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8:
		*s = jsonschema.Schema{Type: "string", ContentEncoding: "base64", Description: s.Description}
		return nil
	}
	if e, ok := reflect.Zero(t).Interface().(enumType); ok && t.Kind() == reflect.String {
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
			return refine(t.Elem(), s.Items, described, false, at+"[]")
		}
	case reflect.Map:
		if s.AdditionalProperties != nil {
			return refine(t.Elem(), s.AdditionalProperties, described, false, at+"{}")
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
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
			if err := refine(f.Type, p, described, strings.Contains(options, "omit"), at+f.Name+"."); err != nil {
				return err
			}
		}
	}
	return nil
}

// formFor returns the form for a question: with the fields of a struct, or with
// one field named key if T is a single value.
func formFor[T any](key string) (schema json.RawMessage, single bool, err error) {
	t := reflect.TypeFor[T]()
	s, err := infer(t, false)
	if err != nil {
		return nil, false, fmt.Errorf("form %q: %w", key, err)
	}
	if s.Type != "object" {
		single = true
		s = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{key: s}, Required: []string{key}}
	}
	s.AdditionalProperties = nil
	for name, p := range s.Properties {
		dropNull(p) // a form cannot express null
		if p.Type == "object" || p.Type == "" || p.Type == "array" && (p.Items == nil || p.Items.Type != "string" || p.Items.Enum == nil) {
			return nil, false, fmt.Errorf("form %q: field %s is not a string, number, boolean or choice", key, name)
		}
	}
	schema, err = s.MarshalJSON()
	return schema, single, err
}
