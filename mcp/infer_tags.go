package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

// A schemaTag is a struct tag named like the keyword that it sets. kind is the
// type it is for: "" means any.
type schemaTag struct {
	name, kind string
	set        func(s *jsonschema.Schema, value string) error
}

// schemaTags lists the tags. Those for scalar types apply to the elements of an
// array of them; see applyTags.
var schemaTags = []schemaTag{
	{"title", "", func(s *jsonschema.Schema, v string) error { s.Title = v; return nil }},
	{"format", "string", func(s *jsonschema.Schema, v string) error { s.Format = v; return nil }},
	{"pattern", "string", func(s *jsonschema.Schema, v string) error {
		s.Pattern = v
		_, err := regexp.Compile(v)
		return err
	}},
	{"minLength", "string", intTag(func(s *jsonschema.Schema) **int { return &s.MinLength })},
	{"maxLength", "string", intTag(func(s *jsonschema.Schema) **int { return &s.MaxLength })},
	{"minimum", "number", floatTag(func(s *jsonschema.Schema) **float64 { return &s.Minimum })},
	{"maximum", "number", floatTag(func(s *jsonschema.Schema) **float64 { return &s.Maximum })},
	{"exclusiveMinimum", "number", floatTag(func(s *jsonschema.Schema) **float64 { return &s.ExclusiveMinimum })},
	{"exclusiveMaximum", "number", floatTag(func(s *jsonschema.Schema) **float64 { return &s.ExclusiveMaximum })},
	{"multipleOf", "number", floatTag(func(s *jsonschema.Schema) **float64 { return &s.MultipleOf })},
	{"minItems", "array", intTag(func(s *jsonschema.Schema) **int { return &s.MinItems })},
	{"maxItems", "array", intTag(func(s *jsonschema.Schema) **int { return &s.MaxItems })},
	{"uniqueItems", "array", func(s *jsonschema.Schema, v string) error {
		s.UniqueItems = v == "true"
		if !s.UniqueItems {
			return errors.New(`want "true"`)
		}
		return nil
	}},
	{"enum", "scalar", func(s *jsonschema.Schema, v string) (err error) {
		s.OneOf = nil // of the type
		s.Enum, err = tagValues(s, v)
		return err
	}},
	{"examples", "scalar", func(s *jsonschema.Schema, v string) (err error) {
		s.Examples, err = tagValues(s, v)
		return err
	}},
	{"default", "", func(s *jsonschema.Schema, v string) error {
		value, err := tagValue(s, v)
		if err != nil {
			return err
		}
		s.Default, err = jsonv2.Marshal(value, jsonv2.Deterministic(true))
		if err != nil || s.Type == "" {
			return err
		}
		check, err := s.CloneSchemas().Resolve(nil)
		if err != nil {
			return err
		}
		return check.Validate(value)
	}},
}

func intTag(member func(*jsonschema.Schema) **int) func(*jsonschema.Schema, string) error {
	return func(s *jsonschema.Schema, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return errors.New("want a number that is not negative")
		}
		*member(s) = &n
		return nil
	}
}

func floatTag(member func(*jsonschema.Schema) **float64) func(*jsonschema.Schema, string) error {
	return func(s *jsonschema.Schema, v string) error {
		var n float64
		if err := jsonv2.Unmarshal([]byte(v), &n); err != nil {
			return errors.New("want a number")
		}
		*member(s) = &n
		return nil
	}
}

// wordTag matches what other packages put into the tag jsonschema.
var wordTag = regexp.MustCompile(`^[^ \t\n]*=`)

// applyTags adds the keywords that a field's tags set to the schema of its type.
func applyTags(tags reflect.StructTag, s *jsonschema.Schema, at string) error {
	if text, ok := tags.Lookup("jsonschema"); ok {
		if text == "" || wordTag.MatchString(text) {
			return fmt.Errorf("field %s: tag jsonschema: want a description, not %q; keywords have tags of their own, such as `enum:\"a,b\"`", at, text)
		}
		s.Description = text
	}
	for _, tag := range schemaTags {
		value, ok := tags.Lookup(tag.name)
		if !ok {
			continue
		}
		target := s
		if s.Type == "array" && s.Items != nil && tag.kind != "" && tag.kind != "array" {
			target = s.Items
		}
		if !tag.fits(target.Type) {
			return fmt.Errorf("field %s: tag %s does not fit type %s", at, tag.name, orAny(target.Type))
		}
		if err := tag.set(target, value); err != nil {
			return fmt.Errorf("field %s: tag %s: %q: %w", at, tag.name, value, err)
		}
	}
	return nil
}

func orAny(kind string) string {
	if kind == "" {
		return "any"
	}
	return kind
}

func (t *schemaTag) fits(kind string) bool {
	switch t.kind {
	case "":
		return true
	case "number":
		return kind == "number" || kind == "integer"
	case "scalar":
		return slices.Contains([]string{"string", "number", "integer", "boolean"}, kind)
	}
	return t.kind == kind
}

// tagValues parses a list of values. A comma in a value is written as `\,`.
func tagValues(s *jsonschema.Schema, list string) (values []any, err error) {
	const comma = "\x00"
	for text := range strings.SplitSeq(strings.ReplaceAll(list, `\,`, comma), ",") {
		v, err := tagValue(s, strings.ReplaceAll(text, comma, ","))
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// tagValue parses a value of the type of s: a string as it is, others as JSON.
func tagValue(s *jsonschema.Schema, text string) (any, error) {
	if s.Type == "string" {
		return text, nil
	}
	var v any
	if err := jsonv2.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	want := s.Type
	kind := kindOf(json.RawMessage(strings.TrimSpace(text)))
	n, _ := v.(float64)
	if want == "" || kind == want || want == "integer" && kind == "number" && n == float64(int64(n)) {
		return v, nil
	}
	return nil, fmt.Errorf("%s is not of type %s", text, want)
}
