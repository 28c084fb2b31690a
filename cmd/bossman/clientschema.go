package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A field is a property of an object that a schema describes: an argument of a tool,
// or a line of a form.
type field struct {
	Name        string
	Types       []string // as in JSON Schema; empty: anything
	Items       []string // the types of a list's values
	Required    bool
	Title       string
	Description string
	Default     jsontext.Value
	Choices     []choice
	Many        bool // several choices at once
}

// A choice is a value that a field may have.
type choice struct{ value, title string }

// A form is what a schema says about an object, in its order.
type form struct {
	Fields []field
	Closed bool // nothing else may be there
}

func (f *form) find(name string) *field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

func (f *form) names() (names []string) {
	for _, p := range f.Fields {
		names = append(names, p.Name)
	}
	return names
}

// schemaJSON is what is looked at of a schema. What is there in another shape is
// left aside: the server checks.
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

// maxRefs is how many references of one schema are followed: they may lead in circles.
const maxRefs = 100

// A schemaReader reads the parts of one schema.
type schemaReader struct {
	root jsontext.Value
	left int // references that may still be followed
}

// read reads a part. Where it refers to another part of the same schema, that is
// read, with what is said here on top.
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

// find finds what a reference such as #/$defs/Colour is to, or nothing.
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

// readForm reads what a schema says.
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

// types are those that a schema lets a value have.
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

// choices are the texts that a schema lets a value have.
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

// as reads a value, and is zero if it is something else.
func as[T any](raw jsontext.Value) T {
	var v T
	if len(raw) > 0 && json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero
	}
	return v
}

// kinds says what a field takes.
func (p *field) kinds() string {
	if len(p.Choices) > 0 {
		var values []string
		for _, c := range p.Choices {
			values = append(values, c.value)
		}
		return strings.Join(values, "|")
	}
	types := slices.DeleteFunc(slices.Clone(p.Types), func(t string) bool { return t == "null" })
	if len(types) == 0 {
		return "any"
	}
	if len(types) == 1 && types[0] == "array" && len(p.Items) == 1 {
		return p.Items[0] + " list"
	}
	return strings.Join(slices.Compact(types), "|")
}

// wants is kinds in a sentence.
func (p *field) wants() string {
	if p == nil {
		return "text in UTF-8" // of an argument that the schema does not know
	}
	switch k := p.kinds(); {
	case len(p.Choices) > 0:
		return "one of " + strings.ReplaceAll(k, "|", ", ")
	case k == "any":
		return "a value"
	case strings.HasPrefix(k, "a") || strings.HasPrefix(k, "i") || strings.HasPrefix(k, "o"):
		return "an " + k
	default:
		return "a " + k
	}
}

var errNotThat = errors.New("it is something else")

// value reads what was typed for a field as the schema wants it. Text stays text
// wherever text is allowed.
func (p *field) value(text string) (jsontext.Value, error) {
	if p == nil || len(p.Types) == 0 || slices.Contains(p.Types, "string") {
		return json.Marshal(text)
	}
	for _, t := range p.Types {
		if v, err := typed(t, text); err == nil {
			return v, nil
		}
	}
	if slices.Contains(p.Types, "array") && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		item := field{Types: p.Items}
		v, err := item.value(text)
		if err != nil {
			return nil, err
		}
		return json.Marshal([]jsontext.Value{v})
	}
	return nil, errNotThat
}

// typed reads a text as a value of one type.
func typed(t, text string) (jsontext.Value, error) {
	raw := jsontext.Value(strings.TrimSpace(text))
	if !raw.IsValid() {
		return nil, errNotThat
	}
	switch t {
	case "integer":
		if n, err := strconv.ParseFloat(string(raw), 64); err != nil || n != float64(int64(n)) {
			return nil, errNotThat
		}
	default:
		if kindName(raw) != t {
			return nil, errNotThat
		}
	}
	return raw, nil
}

// arguments reads k=v and k:=json, by what the tool's schema says, on top of an
// object.
func (f *form) arguments(into map[string]jsontext.Value, words []string) error {
	given := map[string]bool{}
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		if !ok || name == "" || name == ":" {
			return console.Usagef("%q is no argument: it is name=value, or name:=JSON", w)
		}
		if short, raw := strings.CutSuffix(name, ":"); raw {
			v := jsontext.Value(strings.TrimSpace(text))
			if !v.IsValid() {
				return console.Usagef("%s:= wants JSON, and %q is none", short, text)
			}
			into[short], given[short] = v, true
			continue
		}
		p := f.find(name)
		v, err := p.value(text)
		if err != nil {
			return console.Usagef("%s wants %s, not %q", name, p.wants(), text)
		}
		if given[name] {
			if p == nil || !slices.Contains(p.Types, "array") {
				return console.Usagef("%s is given twice", name)
			}
			// A list may be given one by one.
			v, err = json.Marshal(append(as[[]jsontext.Value](into[name]), as[[]jsontext.Value](v)...))
			if err != nil {
				return err
			}
		}
		into[name], given[name] = v, true
	}
	return nil
}

// check finds what the server would refuse anyway, with a name that may have been
// meant.
func (f *form) check(args map[string]jsontext.Value) error {
	for name := range args {
		if f.Closed && f.find(name) == nil {
			text := fmt.Sprintf("it takes no argument %q", name)
			if best := near(name, f.names()); len(best) > 0 {
				text += "; did you mean " + strings.Join(best, " or ") + "?"
			}
			return errors.New(text)
		}
	}
	for _, p := range f.Fields {
		if _, ok := args[p.Name]; p.Required && !ok {
			return fmt.Errorf("it needs %s (%s)", p.Name, p.kinds())
		}
	}
	return nil
}
