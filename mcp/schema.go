package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaFor infers the schema of a tool's arguments or result. It panics if the
// type is not suitable, which is a programming error.
func schemaFor(tool string, t reflect.Type, input bool) json.RawMessage {
	f := &inferrer{input: input, described: input}
	s, err := f.infer(t)
	if err == nil && input && s.Type != "object" {
		err = errors.New("arguments must be a struct or a map")
	}
	var b json.RawMessage
	if err == nil {
		b, err = encodeSchema(s)
	}
	if err != nil {
		panic(fmt.Sprintf("mcp: tool %s: schema of %s: %v", tool, t, err))
	}
	return b
}

// encodeSchema encodes an inferred schema. Schemas of members and elements that
// accept anything are {}: older clients refuse true.
func encodeSchema(s *jsonschema.Schema) (json.RawMessage, error) {
	b, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return objectSchemas(b)
}

func objectSchemas(schema json.RawMessage) (json.RawMessage, error) {
	if string(schema) == "true" {
		return json.RawMessage("{}"), nil
	}
	if schema[0] != '{' {
		return schema, nil
	}
	return editMembers(schema, func(name string, v json.RawMessage) (json.RawMessage, error) {
		switch name {
		case "properties", "$defs":
			return editMembers(v, func(_ string, v json.RawMessage) (json.RawMessage, error) { return objectSchemas(v) })
		case "items":
			return objectSchemas(v)
		case "additionalProperties":
			if v[0] == '{' {
				return objectSchemas(v)
			}
		}
		return v, nil
	})
}

// formFor returns the form for a question: with the fields of a struct, or with
// one field named key if T is a single value.
func formFor[T any](key string) (schema json.RawMessage, single bool, err error) {
	t := reflect.TypeFor[T]()
	s, err := (&inferrer{input: true}).infer(t)
	if err != nil {
		return nil, false, fmt.Errorf("form %q: %w", key, err)
	}
	if s.Type != "object" {
		single = true
		s = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{key: s}, Required: []string{key}}
	}
	s.AdditionalProperties = nil
	for name, p := range s.Properties {
		if !isFormField(p) {
			return nil, false, fmt.Errorf("form %q: field %s is not a string, number, boolean or choice", key, name)
		}
	}
	schema, err = encodeSchema(s)
	return schema, single, err
}

// isFormField reports whether a form can have a field, and adjusts its schema: a
// form has no null, and a list of titled choices has its own keyword.
func isFormField(p *jsonschema.Schema) bool {
	dropNull(p)
	if p.Type != "array" {
		return p.Type != "" && p.Type != "object"
	}
	if p.Items == nil || p.Items.Type != "string" || p.Items.Enum == nil && p.Items.OneOf == nil {
		return false
	}
	if p.Items.OneOf != nil {
		p.Items = &jsonschema.Schema{AnyOf: p.Items.OneOf}
	}
	return true
}
