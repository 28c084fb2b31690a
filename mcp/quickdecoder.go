package mcp

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// A quickDecoder decodes objects into a struct with simple fields. It relies on
// jsonrpc, which has validated the text: it copies a string without looking at
// each of its bytes again, and a large string is the most expensive part of a call.
type quickDecoder struct {
	fields []quickField
	simple bool // no field needs the JSON package
}

// A quickField is a field of a quickDecoder. Fields are in their order in the
// struct.
type quickField struct {
	name  string
	index int
	kind  reflect.Kind // a string, a boolean or an integer; otherwise reflect.Invalid
}

// worthSplitting is the size of an object from which its members are decoded one
// by one, even if some of them need the JSON package.
const worthSplitting = 4 << 10

// newQuickDecoder returns nil if t is not a struct, or has fields that take more
// than a name to find, such as embedded ones.
func newQuickDecoder(t reflect.Type) *quickDecoder {
	if t == nil || t.Kind() != reflect.Struct || decodesItself(t) {
		return nil
	}
	q := &quickDecoder{simple: true}
	seen := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous || !f.IsExported() || seen[name] || !isPlainName(name) {
			return nil
		}
		for option := range strings.SplitSeq(options, ",") {
			if option != "" && option != "omitempty" && option != "omitzero" {
				return nil
			}
		}
		seen[name] = true
		field := quickField{name: name, index: i, kind: quickKind(f.Type)}
		q.simple = q.simple && field.kind != reflect.Invalid
		q.fields = append(q.fields, field)
	}
	return q
}

func quickKind(t reflect.Type) reflect.Kind {
	switch k := t.Kind(); {
	case decodesItself(t) || t == reflect.TypeFor[json.Number]():
	case k == reflect.String, k == reflect.Bool, k >= reflect.Int && k <= reflect.Int64:
		return k
	}
	return reflect.Invalid
}

// isPlainName reports whether a tag has a member name that needs no thought.
func isPlainName(name string) bool {
	for _, c := range []byte(name) {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '_' && c != '-' {
				return false
			}
		}
	}
	return name != "" && name != "-"
}

// decodesItself reports whether a type has methods by which it is decoded.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[jsonv2.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) ||
		p.Implements(reflect.TypeFor[jsonv2.UnmarshalerFrom]())
}

// decode decodes text into v, a pointer to a struct. It returns false if it did
// not; then it may have set some fields.
func (q *quickDecoder) decode(text json.RawMessage, v any, o jsonv2.Options) bool {
	if len(text) == 0 || text[0] != '{' || !q.simple && len(text) < worthSplitting {
		return false
	}
	s := reflect.ValueOf(v).Elem()
	next := 0
	for name, raw := range rawjson.Members(text) {
		f := q.field(name, &next)
		if f == nil {
			continue
		}
		if !f.set(s.Field(f.index), raw) && jsonv2.Unmarshal(raw, s.Field(f.index).Addr().Interface(), o) != nil {
			return false
		}
	}
	return true
}

// field returns the field with a name, or nil. Members are usually in the order of
// the fields, so the search begins at the one after the last.
func (q *quickDecoder) field(name string, next *int) *quickField {
	for range q.fields {
		if *next >= len(q.fields) {
			*next = 0
		}
		f := &q.fields[*next]
		*next++
		if f.name == name {
			return f
		}
	}
	return nil
}

// set sets a simple field. It returns false if raw is not of its kind.
func (f *quickField) set(v reflect.Value, raw json.RawMessage) bool {
	switch {
	case f.kind == reflect.Invalid:
		return false
	case f.kind == reflect.String:
		if raw[0] == '"' {
			v.SetString(rawjson.Text(raw))
		}
		return raw[0] == '"'
	case f.kind == reflect.Bool:
		if raw[0] == 't' || raw[0] == 'f' {
			v.SetBool(raw[0] == 't')
		}
		return raw[0] == 't' || raw[0] == 'f'
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}
