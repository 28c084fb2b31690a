package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// For random struct types: what the input schema of a type allows can be decoded into it, and
// what is encoded from it passes its output schema and is decoded to the same.

type promotes struct {
	base
	*Shared
	Own int `json:"own" jsonschema:"own"`
}

type Shared struct {
	Part  string `json:"part,omitempty" jsonschema:"part"`
	Whole []int  `json:"whole" jsonschema:"whole"`
}

// leaves are the types that structs are made of, with tags that fit them.
var leaves = []struct {
	t    reflect.Type
	tags []string
}{
	{reflect.TypeFor[bool](), []string{`default:"true"`, `enum:"true,false"`}},
	{reflect.TypeFor[int](), []string{`minimum:"-5" maximum:"9"`, `default:"3"`, `multipleOf:"3"`, `enum:"1,2,3"`}},
	{reflect.TypeFor[int8](), []string{`exclusiveMaximum:"9"`}},
	{reflect.TypeFor[int32](), nil},
	{reflect.TypeFor[uint8](), []string{`maximum:"9"`}},
	{reflect.TypeFor[uint64](), nil},
	{reflect.TypeFor[float32](), nil},
	{reflect.TypeFor[float64](), []string{`exclusiveMinimum:"0"`, `minimum:"0.5" maximum:"1.5"`, `default:"0.5"`}},
	{reflect.TypeFor[string](), []string{`minLength:"2" maxLength:"4"`, `enum:"a,b\\,c"`, `default:"x"`, `pattern:"^[a-z]+$"`, `format:"email"`}},
	{reflect.TypeFor[titledSize](), nil},
	{reflect.TypeFor[colour](), []string{`default:"red"`}},
	{reflect.TypeFor[time.Time](), nil},
	{reflect.TypeFor[time.Duration](), []string{`minimum:"0"`}},
	{reflect.TypeFor[json.RawMessage](), nil},
	{reflect.TypeFor[json.Number](), []string{`minimum:"1"`}},
	{reflect.TypeFor[big.Int](), nil},
	{reflect.TypeFor[[]byte](), nil},
	{reflect.TypeFor[[3]byte](), nil},
	{reflect.TypeFor[any](), []string{`default:"7"`}},
	{reflect.TypeFor[[]string](), []string{`minItems:"1" maxItems:"3"`, `enum:"x,y"`, `default:"[]"`}},
	{reflect.TypeFor[promotes](), nil},
	{reflect.TypeFor[treeNode](), nil},
	{reflect.TypeFor[percent](), nil},
}

// encodeOnly are types of text whose schemas do not say everything.
var encodeOnly = []reflect.Type{reflect.TypeFor[netip.Addr](), reflect.TypeFor[map[netip.Addr]int](), reflect.TypeFor[fmt.Stringer]()}

// drawType draws a type and tags that fit it.
func drawType(t *rapid.T, depth int, input bool) (reflect.Type, string) {
	switch n := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case n < 5 || depth == 0:
		leaf := rapid.SampledFrom(leaves).Draw(t, "leaf")
		tag := ""
		if input && leaf.tags != nil && rapid.Bool().Draw(t, "tagged") {
			tag = rapid.SampledFrom(leaf.tags).Draw(t, "tag")
		}
		return leaf.t, tag
	case n == 5 && !input:
		return rapid.SampledFrom(encodeOnly).Draw(t, "text"), ""
	case n <= 6:
		e, tag := drawType(t, depth-1, input)
		return reflect.PointerTo(e), tag
	case n == 7:
		e, _ := drawType(t, depth-1, input)
		if rapid.Bool().Draw(t, "array") {
			return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "len"), e), ""
		}
		return reflect.SliceOf(e), ""
	case n == 8:
		e, _ := drawType(t, depth-1, input)
		key := rapid.SampledFrom([]reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[uint8](), reflect.TypeFor[colour]()}).Draw(t, "key")
		return reflect.MapOf(key, e), ""
	}
	return drawStruct(t, depth-1, input), ""
}

func drawStruct(t *rapid.T, depth int, input bool) reflect.Type {
	var fields []reflect.StructField
	for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
		ft, tag := drawType(t, depth, input)
		name := rapid.SampledFrom([]string{"", fmt.Sprintf("n%d", i), fmt.Sprintf("é %d", i)}).Draw(t, "name")
		options := []string{"", ",omitempty", ",omitzero"}
		if tag == "" && quotedSchema(ft) != nil {
			options = append(options, ",string", ",string,omitempty")
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: ft,
			Tag: reflect.StructTag(fmt.Sprintf(`json:"%s%s" jsonschema:"d" %s`, name, rapid.SampledFrom(options).Draw(t, "option"), tag)),
		})
	}
	return reflect.StructOf(fields)
}

// schemaOf returns the schema of a type, and what checks values against it.
func schemaOf(t *rapid.T, in *inferrer, typ reflect.Type) (json.RawMessage, *checker) {
	s, err := in.infer(typ)
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	schema, err := encodeSchema(s)
	if err != nil {
		t.Fatal(err)
	}
	check, err := newChecker(schema)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return schema, check
}

func TestInfer_whatTheSchemaAllowsDecodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawStruct(t, 3, true)
		schema, check := schemaOf(t, &inferrer{input: true, described: true}, typ)
		g := &instances{t: t, root: schema}
		text := json.RawMessage(g.draw(schema, 6))
		if err := check.check(text); err != nil {
			t.Fatalf("the test is wrong: %s does not match %s: %v", text, schema, err)
		}
		full := newDefaults(schema).apply(text)
		if err := check.check(full); err != nil {
			t.Fatalf("%s with defaults is %s, which does not match %s: %v", text, full, schema, err)
		}
		if err := codecFor(typ).decode(full, reflect.New(typ).Interface()); err != nil {
			t.Fatalf("%s matches %s, but is not decoded into %s: %v", full, schema, typ, err)
		}
	})
}

func TestInfer_whatIsEncodedPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawStruct(t, 3, false)
		schema, check := schemaOf(t, &inferrer{}, typ)
		v := reflect.New(typ)
		fill(t, v.Elem(), 5)
		text, err := codecFor(typ).encode(v.Interface())
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if err := check.check(text); err != nil {
			t.Fatalf("%+v is encoded as %s, which does not match %s: %v", v.Elem(), text, schema, err)
		}
		// A client that has the type reads the value that was sent. A pointer to nothing becomes a
		// nil pointer, which omitempty omits; and omitzero omits what is zero only when it is read.
		back := reflect.New(typ)
		if err := codecFor(typ).decode(text, back.Interface()); err != nil {
			t.Fatalf("%s is not decoded into %s: %v", text, typ, err)
		}
		if again, err := codecFor(typ).encode(back.Interface()); err != nil ||
			!strings.Contains(typ.String(), "omitzero") && !reflect.DeepEqual(withoutNulls(t, again), withoutNulls(t, text)) {
			t.Fatalf("%s of type %s, decoded and encoded again, is %s, %v", text, typ, again, err)
		}
	})
}

// withoutNulls decodes a text, without members that are null.
func withoutNulls(t *rapid.T, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			maps.DeleteFunc(v, func(_ string, member any) bool { return member == nil })
			for _, member := range v {
				strip(member)
			}
		case []any:
			for _, element := range v {
				strip(element)
			}
		}
	}
	strip(v)
	return v
}

// fill sets a value to something random.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "time"), 5).UTC()))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"a":[1]}`), json.RawMessage(`"x"`)}).Draw(t, "raw")))
		return
	case json.Number:
		v.SetString(rapid.SampledFrom([]string{"", "1", "-1.50", "1e9"}).Draw(t, "number"))
		return
	case titledSize:
		v.SetString(rapid.SampledFrom(titledSize("").Enum()).Draw(t, "size"))
		return
	case colour:
		v.SetString(rapid.SampledFrom(colour("").Enum()).Draw(t, "colour"))
		return
	case percent:
		v.SetFloat(float64(rapid.IntRange(0, 100).Draw(t, "percent")))
		return
	case big.Int:
		v.Addr().Interface().(*big.Int).Lsh(big.NewInt(rapid.Int64().Draw(t, "big")), 70)
		return
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.AddrFrom4([4]byte{rapid.Byte().Draw(t, "addr")})))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := rapid.SampledFrom([]int64{0, 1, -1, 100, math.MinInt64, math.MaxInt64}).Draw(t, "int")
		v.SetInt(max(min(n, 1<<(v.Type().Bits()-1)-1), -1<<(v.Type().Bits()-1)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.SampledFrom([]uint64{0, 1, 255}).Draw(t, "uint"))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 1, -1.5, 1e30}).Draw(t, "float"))
	case reflect.String:
		v.SetString(rapid.StringN(0, 5, 10).Draw(t, "string"))
	case reflect.Interface:
		if v.NumMethod() == 0 && rapid.Bool().Draw(t, "set") {
			v.Set(reflect.ValueOf(map[string]any{"a": json.Number("1")}))
		}
	case reflect.Pointer:
		if depth > 0 && rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 && rapid.Bool().Draw(t, "set") {
			v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, "len"), 2))
			for i := range v.Len() {
				fill(t, v.Index(i), depth-1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth)
		}
	case reflect.Map:
		if depth > 0 && rapid.Bool().Draw(t, "set") {
			v.Set(reflect.MakeMap(v.Type()))
			for range rapid.IntRange(0, 2).Draw(t, "len") {
				key, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, key, 0)
				fill(t, e, depth-1)
				v.SetMapIndex(key, e)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(t, f, depth)
			} else if v.Type().Field(i).Anonymous { // base
				f.Field(0).SetString("abc")
			}
		}
	}
}

// instances draws values that match a schema.
type instances struct {
	t    *rapid.T
	root json.RawMessage
}

// A drawnSchema is the part of JSON Schema that is inferred.
type drawnSchema struct {
	Ref                  string            `json:"$ref"`
	Type                 any               `json:"type"`
	Enum                 []json.RawMessage `json:"enum"`
	OneOf                []json.RawMessage `json:"oneOf"`
	AnyOf                []json.RawMessage `json:"anyOf"`
	Const                json.RawMessage   `json:"const"`
	Pattern              string            `json:"pattern"`
	Format               string            `json:"format"`
	ContentEncoding      string            `json:"contentEncoding"`
	ContentMediaType     string            `json:"contentMediaType"`
	MinLength, MaxLength *int
	Minimum              *float64                   `json:"minimum"`
	Maximum              *float64                   `json:"maximum"`
	ExclusiveMinimum     *float64                   `json:"exclusiveMinimum"`
	ExclusiveMaximum     *float64                   `json:"exclusiveMaximum"`
	MultipleOf           float64                    `json:"multipleOf"`
	MinItems             int                        `json:"minItems"`
	MaxItems             *int                       `json:"maxItems"`
	Items                json.RawMessage            `json:"items"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	PropertyNames        *struct{ Pattern string }  `json:"propertyNames"`
}

// samples has texts that match the patterns.
var samples = map[string][]string{
	"^[a-z]{1,8}$":        {"a", "abcdefgh"},
	"^[a-z]+$":            {"z", "zy"},
	"^[0-9.]+%$":          {"5%", "0.5%"},
	"^(0|[1-9][0-9]*)$":   {"0", "7"},
	"^(0|-?[1-9][0-9]*)$": {"0", "-7"},
	`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`: {"0", "-1.5", "1e3"},
}

func (g *instances) draw(schema json.RawMessage, depth int) string {
	var s drawnSchema
	if err := json.Unmarshal(schema, &s); err != nil {
		g.t.Fatalf("%s: %v", schema, err)
	}
	kind, _ := s.Type.(string)
	if kinds, ok := s.Type.([]any); ok {
		if kind = kinds[1].(string); rapid.Bool().Draw(g.t, "null") {
			kind = "null"
		}
	}
	choose := func(list []string) string { return rapid.SampledFrom(list).Draw(g.t, kind) }
	quote := func(s string) string { return string(appendString(nil, s)) }
	switch {
	case s.Ref != "":
		return g.draw(member(member(g.root, "$defs"), strings.TrimPrefix(s.Ref, "#/$defs/")), depth)
	case s.AnyOf != nil && depth <= 0:
		return "null"
	case s.AnyOf != nil:
		return g.draw(rapid.SampledFrom(s.AnyOf).Draw(g.t, "anyOf"), depth)
	case s.Const != nil:
		return string(s.Const)
	case s.OneOf != nil && kind != "null":
		return g.draw(rapid.SampledFrom(s.OneOf).Draw(g.t, "oneOf"), depth)
	case s.Enum != nil && kind != "null":
		return string(rapid.SampledFrom(slices.DeleteFunc(s.Enum, func(v json.RawMessage) bool { return string(v) == "null" })).Draw(g.t, "enum"))
	}
	switch kind {
	case "null":
		return "null"
	case "boolean":
		return choose([]string{"true", "false"})
	case "integer", "number":
		return g.number(&s, kind)
	case "string":
		switch {
		case s.Pattern != "":
			return quote(choose(samples[s.Pattern]))
		case s.Format == "date-time":
			return quote("2026-07-28T01:02:03.5Z")
		case s.ContentEncoding != "":
			return quote(base64.StdEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(g.t, "bytes")))
		case s.ContentMediaType != "":
			return quote(quote(choose([]string{"", "é\""})))
		case s.MinLength != nil:
			return quote(choose([]string{"ab", "éöüß"}))
		}
		return quote(rapid.StringN(0, 5, 10).Draw(g.t, "string"))
	case "array":
		most := 3
		if s.MaxItems != nil {
			most = *s.MaxItems
		}
		if depth <= 0 {
			most = s.MinItems
		}
		var items []string
		for range rapid.IntRange(s.MinItems, most).Draw(g.t, "len") {
			items = append(items, g.draw(s.Items, depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	case "object":
		return g.object(&s, depth)
	}
	return choose([]string{`{"a":[1,null]}`, `"x"`, `7`, `[]`, `true`})
}

func (g *instances) number(s *drawnSchema, kind string) string {
	var fits []string
	for _, text := range []string{"0", "1", "3", "-3", "1.0", "3e0", "30e-1", "0.5", "1.5", "-0.25", "9", "250", "1e2"} {
		var n float64
		_ = json.Unmarshal([]byte(text), &n)
		if kind == "integer" && n != math.Trunc(n) || s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum ||
			s.ExclusiveMinimum != nil && n <= *s.ExclusiveMinimum || s.ExclusiveMaximum != nil && n >= *s.ExclusiveMaximum ||
			s.MultipleOf != 0 && math.Mod(n, s.MultipleOf) != 0 {
			continue
		}
		fits = append(fits, text)
	}
	return rapid.SampledFrom(fits).Draw(g.t, "number")
}

func (g *instances) object(s *drawnSchema, depth int) string {
	var members []string
	for name, p := range jsonMembers(s.Properties) {
		if slices.Contains(s.Required, name) || depth > 0 && rapid.Bool().Draw(g.t, "present") {
			members = append(members, string(appendString(nil, name))+":"+g.draw(p, depth-1))
		}
	}
	if s.Properties == nil && string(s.AdditionalProperties) != "false" && depth > 0 && rapid.Bool().Draw(g.t, "more") {
		name := "k"
		if s.PropertyNames != nil {
			name = rapid.SampledFrom(samples[s.PropertyNames.Pattern]).Draw(g.t, "key")
		}
		value := "1"
		if s.AdditionalProperties != nil {
			value = g.draw(s.AdditionalProperties, depth-1)
		}
		members = append(members, `"`+name+`":`+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// jsonMembers iterates in order, so that rapid can repeat what it did.
func jsonMembers(m map[string]json.RawMessage) func(func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		names := make([]string, 0, len(m))
		for name := range m {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}
