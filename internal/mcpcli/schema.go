package mcpcli

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schemaJSON is the part of a schema that forms need. A member of another type is ignored:
// the server validates.
type schemaJSON struct {
	Type        jsontext.Value `json:"type"`
	Properties  jsontext.Value `json:"properties"`
	Required    jsontext.Value `json:"required"`
	Additional  jsontext.Value `json:"additionalProperties"`
	Title       jsontext.Value `json:"title"`
	Description jsontext.Value `json:"description"`
	Default     jsontext.Value `json:"default"`
	Enum        jsontext.Value `json:"enum"`
	EnumNames   jsontext.Value `json:"enumNames"`
	Items       jsontext.Value `json:"items"`
	AnyOf       jsontext.Value `json:"anyOf"`
	OneOf       jsontext.Value `json:"oneOf"`
	Const       jsontext.Value `json:"const"`
	Ref         jsontext.Value `json:"$ref"`
	AllOf       jsontext.Value `json:"allOf"`
}

// maxRefs is how many references of one schema are followed: they may be circular.
const maxRefs = 100

// A schemaReader reads the parts of one schema.
type schemaReader struct {
	root jsontext.Value
	left int // how many references may still be followed
}

// read reads a part of the schema. A reference to another part is followed; title,
// description and default beside the reference have precedence.
func (r *schemaReader) read(raw jsontext.Value) (s schemaJSON, ok bool) {
	if json.Unmarshal(raw, &s) != nil {
		return schemaJSON{}, false
	}
	to := r.find(as[string](s.Ref))
	if all := as[[]jsontext.Value](s.AllOf); len(to) == 0 && len(all) == 1 {
		to = all[0]
	}
	if len(to) == 0 || r.left == 0 {
		return s, true
	}
	r.left--
	there, ok := r.read(to)
	if !ok {
		return s, true
	}
	title, description, otherwise := s.Title, s.Description, s.Default
	s = there
	for _, said := range []struct{ into, here *jsontext.Value }{{&s.Title, &title}, {&s.Description, &description}, {&s.Default, &otherwise}} {
		if len(*said.here) > 0 {
			*said.into = *said.here
		}
	}
	return s, true
}

// find is the part that a reference such as #/$defs/Colour names, nil if there is none.
func (r *schemaReader) find(ref string) jsontext.Value {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := r.root
	for name := range strings.SplitSeq(path, "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		at = as[map[string]jsontext.Value](at)[name]
	}
	return at
}

// readForm reads the fields of a schema. One that cannot be read has none.
func readForm(schema []byte) *form {
	r := &schemaReader{root: schema, left: maxRefs}
	s, ok := r.read(schema)
	if !ok {
		return &form{}
	}
	f := &form{Closed: string(s.Additional) == "false"}
	required := as[[]string](s.Required)
	d := jsontext.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return f
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			break
		}
		name := t.String()
		raw, err := d.ReadValue()
		if err != nil {
			break
		}
		p := r.field(raw)
		p.Name, p.Required = name, slices.Contains(required, name)
		f.Fields = append(f.Fields, p)
	}
	return f
}

func (r *schemaReader) field(raw jsontext.Value) field {
	s, ok := r.read(raw)
	if !ok {
		return field{}
	}
	p := field{
		Types: r.types(&s), Title: as[string](s.Title), Description: as[string](s.Description),
		Default: bytes.Clone(s.Default), Choices: r.choices(&s),
	}
	if len(s.Items) > 0 {
		if items, ok := r.read(s.Items); ok {
			p.Items = r.types(&items)
			if cs := r.choices(&items); len(cs) > 0 {
				p.Choices, p.Many = cs, true
			}
		}
	}
	return p
}

// types are the types that a schema allows.
func (r *schemaReader) types(s *schemaJSON) []string {
	if one := as[string](s.Type); one != "" {
		return []string{one}
	}
	if many := as[[]string](s.Type); len(many) > 0 {
		return many
	}
	var out []string
	for _, list := range []jsontext.Value{s.AnyOf, s.OneOf} {
		for _, raw := range as[[]jsontext.Value](list) {
			sub, ok := r.read(raw)
			if !ok {
				continue
			}
			types := r.types(&sub)
			if len(types) == 0 && len(sub.Const) == 0 {
				return nil // anything
			}
			out = append(out, types...)
		}
	}
	if len(out) == 0 {
		for _, raw := range as[[]jsontext.Value](s.Enum) {
			out = append(out, kindName(raw))
		}
	}
	return out
}

func kindName(raw jsontext.Value) string {
	switch raw.Kind() {
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "null"
}

// choices are the strings that a schema allows.
func (r *schemaReader) choices(s *schemaJSON) []choice {
	var out []choice
	names := as[[]string](s.EnumNames)
	for i, v := range as[[]string](s.Enum) {
		c := choice{value: v}
		if i < len(names) {
			c.title = names[i]
		}
		out = append(out, c)
	}
	for _, list := range []jsontext.Value{s.OneOf, s.AnyOf} {
		for _, raw := range as[[]jsontext.Value](list) {
			if sub, ok := r.read(raw); ok && len(sub.Const) > 0 {
				out = append(out, choice{value: as[string](sub.Const), title: as[string](sub.Title)})
			}
		}
	}
	return out
}

// as decodes a value, and is zero if it has another type.
func as[T any](raw jsontext.Value) T {
	var v T
	if len(raw) > 0 && json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero
	}
	return v
}
