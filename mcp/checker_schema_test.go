package mcp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// doubling returns definitions of which each one applies the next one twice.
func doubling(n int, keyword string) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"a%d":{%q:[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, keyword, i+1, i+1))
	}
	return strings.Join(append(defs, fmt.Sprintf(`"a%d":{"type":"object"}`, n)), ",")
}

// A schema that applies to one value without end, or very often, is not usable; one that
// goes into the value each time is.
func TestChecker_refusesEndlessSchemas(t *testing.T) {
	chain := func(n int) string {
		var defs []string
		for i := range n {
			defs = append(defs, fmt.Sprintf(`"a%d":{"$ref":"#/$defs/a%d"}`, i, i+1))
		}
		return `{"$ref":"#/$defs/a0","$defs":{` + strings.Join(append(defs, fmt.Sprintf(`"a%d":{}`, n)), ",") + `}}`
	}
	for _, c := range []struct {
		schema string
		usable bool
	}{
		{`{"type":"object","$ref":"#"}`, false},
		{`{"type":"object","$ref":""}`, true}, // an empty reference is none
		{`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, false},
		{`{"type":"object","properties":{"a b":{"$ref":"#/properties/a%20b"}}}`, false},
		{`{"type":"object","properties":{"a/~b":{"$ref":"#/properties/a~1~0b"}}}`, false},
		{`{"type":"object","allOf":[{"$ref":"#"}]}`, false},
		{`{"type":"object","allOf":[{"$ref":"#/allOf/+0"}]}`, false},
		{`{"type":"object","allOf":[{"$ref":"#/allOf/0"}]}`, false},
		{`{"type":"object","anyOf":[{"type":"null"},{"oneOf":[{"$ref":"#"}]}]}`, false},
		{`{"type":"object","not":{"$ref":"#"}}`, false},
		{`{"type":"object","if":{"$ref":"#"}}`, false},
		{`{"type":"object","if":{},"then":{"$ref":"#"}}`, false},
		{`{"type":"object","if":{},"else":{"$ref":"#"}}`, false},
		{`{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`, false},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":{"$ref":"#"}}}`, false},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$id":"#x","allOf":[{"$ref":"#x"}]}}}`, false},
		{`{"type":"object","$anchor":"x","$ref":"#x"}`, false},
		{`{"type":"object","$dynamicAnchor":"x","$dynamicRef":"#x"}`, false},
		{`{"type":"object","$dynamicRef":"#"}`, false},
		{`{"$id":"https://example.com/a","type":"object","$ref":"https://example.com/a"}`, false},
		{`{"$id":"https://example.com/a","type":"object","$ref":"a"}`, false},
		{`{"$id":"https://example.com/a","type":"object","$defs":{"b":{"$id":"b","$ref":"a"}},"$ref":"b"}`, false},
		{`{"type":"object","$ref":"#/$defs/b","$defs":{"b":{"$ref":"#/$defs/c"},"c":{"anyOf":[{"$ref":"#/$defs/b"}]}}}`, false},
		{`{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{` + doubling(45, "allOf") + `}}`, false},
		{`{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{` + doubling(45, "anyOf") + `}}`, false},
		{`{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{` + doubling(8, "anyOf") + `}}`, true},
		{chain(20_000), false},
		{chain(1000), true},
		{`{"properties":{"` + strings.Repeat("x", 500_000) + `":{"anyOf":[` + strings.Repeat("{},", 10_000) + `{}]}}}`, false},
		{`{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `"}`, false},
		{`{"type":"object","properties":{"a":null}}`, false},

		{`{"type":"object","properties":{"next":{"$ref":"#"}}}`, true},
		{`{"type":"object","properties":{"list":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`, true},
		{`{"$defs":{"j":{"anyOf":[{"type":["string","null"]},{"type":"array","items":{"$ref":"#/$defs/j"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/j"}}]}},"$ref":"#/$defs/j"}`, true},
		{`{"$id":"https://example.com/tree","$dynamicAnchor":"node","type":"object","properties":{"children":{"type":"array","items":{"$dynamicRef":"#node"}}}}`, true},
		{`{"type":"object","propertyNames":{"$ref":"#/$defs/n"},"unevaluatedProperties":{"$ref":"#"},"$defs":{"n":{"pattern":"^a"}}}`, true},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"type":"object","properties":{"a":{"$ref":"#/definitions/a"}}}},"properties":{"a":{"$ref":"#/definitions/a"}}}`, true},
	} {
		if _, err := newChecker(json.RawMessage(c.schema)); (err == nil) != c.usable {
			t.Errorf("%.200s: %v", c.schema, err)
		}
	}
}

// What a check takes is in proportion to the size of the value, whatever the schema does.
func TestChecker_boundsEffort(t *testing.T) {
	nested := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	list := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	twice := `{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`
	recursive := `{"$defs":{"j":{"anyOf":[{"type":["string","null"]},{"type":"array","items":{"$ref":"#/$defs/j"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/j"}}]}},"$ref":"#/$defs/j"}`
	for name, c := range map[string]struct {
		schema, value string
		ok            bool
	}{
		"shallow":     {twice, nested(6, `{"a":`, `{}`, `}`), true},
		"deep":        {twice, nested(50, `{"a":`, `{}`, `}`), false},
		"lists":       {recursive, nested(50, `[`, `"x"`, `]`), true},
		"large":       {recursive, list(5_000, `{"a":["x",null]}`), true},
		"wide schema": {`{"items":{"allOf":` + list(9000, `{}`) + `}}`, list(25_000, `1`), false},
		"enum":        {`{"items":{"not":{"enum":` + list(50_000, `"x"`) + `}}}`, list(25_000, `1`), false},
		"errors":      {`{"anyOf":` + list(5000, `{"type":"string"}`) + `}`, list(50_000, `1`), false},
		"unique":      {`{"allOf":` + list(5000, `{"uniqueItems":true}`) + `}`, list(25_000, `1`), false},
		"properties":  {`{"items":{"minProperties":0,"required":` + list(50_000, `"x"`) + `}}`, list(25_000, `{}`), false},
		"pattern":     {`{"type":"string","pattern":"` + strings.Repeat(".*", 20_000) + `x$"}`, `"` + strings.Repeat("y", 1<<20) + `"`, false},
		"name":        {`{"patternProperties":{"` + strings.Repeat(".*", 20_000) + `x$":{}}}`, `{"` + strings.Repeat("y", 1<<20) + `":1}`, false},
	} {
		check, err := newChecker(json.RawMessage(c.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		began := time.Now()
		err = check.check(json.RawMessage(c.value))
		t.Logf("%s: %v: %v", name, time.Since(began), err)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// TestChecker_chainOfReferences: applying many subschemas inside one another, at each level
// of a value, does not exhaust the stack.
func TestChecker_chainOfReferences(t *testing.T) {
	const n = 5000
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"a%d":{"$ref":"#/$defs/a%d"}`, i, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"a%d":{"items":{"$ref":"#/$defs/a0"}}`, n))
	c, err := newChecker(json.RawMessage(`{"$ref":"#/$defs/a0","$defs":{` + strings.Join(defs, ",") + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(json.RawMessage(strings.Repeat("[", 60) + strings.Repeat("]", 60))); err == nil {
		t.Error("60 levels of 5,000 references were followed")
	}
}

// FuzzCheck: checking any value against any schema ends soon.
func FuzzCheck(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, uint8(seed), "", "")
	}
	f.Add(uint64(0), uint8(0), `{"type":"object","$ref":"#"}`, `{}`)
	f.Add(uint64(0), uint8(0), `{"properties":{"a":{"$ref":"#"}},"anyOf":[{"$ref":"#/$defs/a0"}],"$defs":{`+doubling(10, "oneOf")+`}}`, `{"a":{"a":{}}}`)
	f.Fuzz(func(t *testing.T, seed uint64, size uint8, schema, value string) {
		r := &schemaWriter{rand.New(rand.NewPCG(seed, 1)), 1 + int(size)%30, 400}
		if schema == "" {
			schema = r.document()
		}
		if value == "" {
			value = r.value(40)
		}
		if !json.Valid([]byte(schema)) || !json.Valid([]byte(value)) || len(schema)+len(value) > 1<<16 || strings.TrimSpace(value) != value {
			return
		}
		began := time.Now()
		c, err := newChecker(json.RawMessage(schema))
		if err == nil {
			err = c.check(json.RawMessage(value))
		}
		if d := time.Since(began); d > 20*time.Second {
			t.Fatalf("%v: %s by %s: %v", d, value, schema, err)
		}
	})
}

// A schemaWriter writes schemas whose definitions refer to one another.
type schemaWriter struct {
	*rand.Rand
	defs, left int
}

func (w *schemaWriter) document() string {
	var defs []string
	for i := range w.defs {
		w.left += 20
		defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, w.schema(i)))
	}
	return fmt.Sprintf(`{"$defs":{%s},"$ref":"#/$defs/d0"}`, strings.Join(defs, ","))
}

// schema writes a schema in definition i. Most references in place lead to later ones, so that
// most documents are usable.
func (w *schemaWriter) schema(i int) string {
	if w.left--; w.left < 0 {
		return "{}"
	}
	to := w.IntN(w.defs)
	if inPlace := min(i+1+w.IntN(3), w.defs-1); inPlace > i && w.IntN(50) > 0 {
		to = inPlace
	}
	in := func() string {
		if w.IntN(3) > 0 && to > i {
			return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, to)
		}
		return w.schema(i)
	}
	below := func() string { return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, w.IntN(w.defs)) }
	var all []string
	for range 1 + w.IntN(3) {
		keyword := []string{
			"allOf", "anyOf", "oneOf", "not", "if", "items", "contains", "additionalProperties", "properties",
			"patternProperties", "propertyNames", "unevaluatedProperties", "type", "enum", "$ref", "dependentSchemas",
		}[w.IntN(16)]
		var v string
		switch keyword {
		case "allOf", "anyOf", "oneOf":
			v = "[" + in() + "," + in() + "]"
		case "not", "if":
			v = in()
		case "properties", "patternProperties":
			v = `{"a":` + below() + `,"b":` + below() + "}"
		case "dependentSchemas":
			v = `{"a":` + in() + "}"
		case "type":
			v = []string{`"object"`, `"array"`, `["object","array","string"]`}[w.IntN(3)]
		case "enum":
			v = `[{},[],"x"]`
		case "$ref":
			if v = fmt.Sprintf(`"#/$defs/d%d"`, to); to <= i && w.IntN(100) > 0 {
				continue
			}
		default:
			v = below()
		}
		if member := fmt.Sprintf("%q:", keyword); !strings.Contains(strings.Join(all, ""), member) {
			all = append(all, member+v)
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

func (w *schemaWriter) value(depth int) string {
	if depth == 0 || w.IntN(40) == 0 {
		return []string{`"x"`, `{}`, `[]`, `null`, `1`}[w.IntN(5)]
	}
	if w.IntN(2) == 0 {
		return "[" + w.value(depth-1) + "]"
	}
	return `{"a":` + w.value(depth-1) + `,"b":1}`
}
