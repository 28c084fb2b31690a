package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type titledSize string

func (titledSize) Enum() []string  { return []string{"s", "l"} }
func (s titledSize) Title() string { return map[titledSize]string{"s": "Small", "l": "Large"}[s] }

type treeNode struct {
	Name string               `json:"name" jsonschema:"name of the node" default:"leaf"`
	Kids []*treeNode          `json:"kids,omitempty" jsonschema:"children"`
	Near map[string]*treeNode `json:"near,omitempty" jsonschema:"neighbours"`
	Next *treeNode            `json:"next" jsonschema:"the next one"`
}

// A percent has its own form and schema.
type percent float64

func (p percent) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%q", fmt.Sprint(float64(p), "%")), nil
}

func (p *percent) UnmarshalJSON(b []byte) error {
	_, err := fmt.Sscanf(string(b), `"%g%%"`, (*float64)(p))
	return err
}

func (percent) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","pattern":"^[0-9.]+%$"}`)
}

type base struct {
	ID string `json:"id" jsonschema:"identifier" pattern:"^[a-z]{1,8}$"`
}

type everyTag struct {
	base
	Style  string         `json:"style,omitempty" jsonschema:"style" enum:"ink,oil,a\\,b" default:"ink" title:"Style"`
	Steps  int            `json:"steps" jsonschema:"steps, at most 50" default:"4" minimum:"1" maximum:"50" examples:"1,2"`
	Ratio  float64        `json:"ratio" jsonschema:"ratio" exclusiveMinimum:"0" exclusiveMaximum:"9.5" multipleOf:"0.5"`
	Size   titledSize     `json:"size" jsonschema:"size"`
	Colour *colour        `json:"colour,omitempty" jsonschema:"colour"`
	Other  *colour        `json:"other" jsonschema:"another colour"`
	When   time.Time      `json:"when,omitzero" jsonschema:"delivery"`
	Mail   string         `json:"mail,omitempty" jsonschema:"address" format:"email" minLength:"3" maxLength:"80"`
	Tags   []string       `json:"tags,omitempty" jsonschema:"labels" enum:"x,y" minItems:"1" maxItems:"3" uniqueItems:"true" default:"[\"x\"]"`
	Nums   []int          `json:"nums,omitempty" jsonschema:"numbers" enum:"1,2" maximum:"2"`
	Addr   netip.Addr     `json:"addr,omitzero" jsonschema:"address" examples:"::1,10.0.0.1"`
	Wait   time.Duration  `json:"wait_ns,omitempty" jsonschema:"nanoseconds" minimum:"0"`
	Any    any            `json:"any,omitempty" jsonschema:"anything"`
	More   map[string]any `json:"more,omitempty" jsonschema:"more" default:"{\"a\":1}"`
	Count  uint8          `json:"count,omitempty" jsonschema:"count"`
	Flag   bool           `json:"flag,omitempty" jsonschema:"flag" default:"true"`
	Share  percent        `json:"share,omitempty" jsonschema:"share"`
	Ports  map[int]string `json:"ports,omitempty" jsonschema:"ports"`
	Text   int            `json:"text,string,omitempty" jsonschema:"a number as text"`
	Data   []byte         `json:"data,omitempty" jsonschema:"data"`
	Hash   [2]byte        `json:"hash,omitzero" jsonschema:"hash"`
	Big    *big.Int       `json:"big,omitempty" jsonschema:"a big number"`
	Hidden chan int       `json:"-"`
}

func TestSchemaFor(t *testing.T) {
	const want = `{"type":"object","properties":{` +
		`"id":{"type":"string","description":"identifier","pattern":"^[a-z]{1,8}$"},` +
		`"style":{"type":"string","title":"Style","description":"style","default":"ink","enum":["ink","oil","a,b"]},` +
		`"steps":{"type":"integer","description":"steps, at most 50","default":4,"examples":[1,2],"minimum":1,"maximum":50},` +
		`"ratio":{"type":"number","description":"ratio","multipleOf":0.5,"exclusiveMinimum":0,"exclusiveMaximum":9.5},` +
		`"size":{"type":"string","description":"size","oneOf":[{"title":"Small","const":"s"},{"title":"Large","const":"l"}]},` +
		`"colour":{"type":"string","description":"colour","enum":["red","green","blue"]},` +
		`"other":{"description":"another colour","anyOf":[{"type":"null"},{"type":"string","enum":["red","green","blue"]}]},` +
		`"when":{"type":"string","description":"delivery","format":"date-time"},` +
		`"mail":{"type":"string","description":"address","minLength":3,"maxLength":80,"format":"email"},` +
		`"tags":{"type":"array","items":{"type":"string","enum":["x","y"]},"description":"labels","default":["x"],"minItems":1,"maxItems":3,"uniqueItems":true},` +
		`"nums":{"type":"array","items":{"type":"integer","enum":[1,2],"maximum":2},"description":"numbers"},` +
		`"addr":{"type":"string","description":"address","examples":["::1","10.0.0.1"]},` +
		`"wait_ns":{"type":"integer","description":"nanoseconds","minimum":0},` +
		`"any":{"description":"anything"},` +
		`"more":{"type":"object","description":"more","default":{"a":1}},` +
		`"count":{"type":"integer","description":"count","minimum":0,"maximum":255},` +
		`"flag":{"type":"boolean","description":"flag","default":true},` +
		`"share":{"type":"string","description":"share","pattern":"^[0-9.]+%$"},` +
		`"ports":{"type":"object","description":"ports","additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^(0|-?[1-9][0-9]*)$"}},` +
		`"text":{"type":"string","description":"a number as text","pattern":"^(0|-?[1-9][0-9]*)$"},` +
		`"data":{"type":"string","description":"data","contentEncoding":"base64"},` +
		`"hash":{"type":"array","items":{"type":"integer","minimum":0,"maximum":255},"description":"hash","minItems":2,"maxItems":2},` +
		`"big":{"type":"integer","description":"a big number"}},` +
		`"required":["id","ratio","size","other"],"additionalProperties":false}`
	if got := string(schemaFor("t", reflect.TypeFor[everyTag](), true)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSchemaFor_recursive(t *testing.T) {
	const node = `{"type":"object","properties":{"name":{"type":"string","description":"name of the node","default":"leaf"},` +
		`"kids":{"type":"array","items":{"$ref":"#/$defs/treeNode"},"description":"children"},` +
		`"near":{"type":"object","description":"neighbours","additionalProperties":{"$ref":"#/$defs/treeNode"}},` +
		`"next":{"description":"the next one","anyOf":[{"type":"null"},{"$ref":"#/$defs/treeNode"}]}},"required":["next"],"additionalProperties":false`
	want := node + `,"$defs":{"treeNode":` + node + `}}}`
	if got := string(schemaFor("t", reflect.TypeFor[treeNode](), true)); !equalJSON(t, got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	const out = `{"type":"object","properties":{"name":{"type":"string","description":"name of the node","default":"leaf"},` +
		`"kids":{"type":"array","items":{"anyOf":[{"type":"null"},{"type":"object"}]},"description":"children"},` +
		`"near":{"type":"object","description":"neighbours","additionalProperties":{"anyOf":[{"type":"null"},{"type":"object"}]}},` +
		`"next":{"anyOf":[{"type":"null"},{"type":"object"}],"description":"the next one"}},"required":["next"],"additionalProperties":false}`
	if got := string(schemaFor("t", reflect.TypeFor[treeNode](), false)); !equalJSON(t, got, out) {
		t.Errorf("got  %s\nwant %s", got, out)
	}
	// Two types with one name are two definitions.
	type pair struct {
		A treeNode           `json:"a" jsonschema:"a"`
		B any                `json:"b" jsonschema:"b"`
		C recursiveOf[int]   `json:"c" jsonschema:"c"`
		D recursiveOf[uint8] `json:"d" jsonschema:"d"`
		E recursiveList      `json:"e" jsonschema:"e"`
	}
	got := string(schemaFor("t", reflect.TypeFor[pair](), true))
	for _, want := range []string{`"recursiveOf_int_":{`, `"recursiveOf_uint8_":{`, `"recursiveList":{"type":"array","items":{"$ref":"#/$defs/recursiveList"}}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

type recursiveOf[T any] struct {
	Value T               `json:"value" jsonschema:"value"`
	Next  *recursiveOf[T] `json:"next,omitempty" jsonschema:"next"`
}

type recursiveList []recursiveList

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err, a)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err, b)
	}
	return reflect.DeepEqual(x, y)
}

type ownJSON struct{ X int }

func (ownJSON) MarshalJSON() ([]byte, error) { return []byte(`1`), nil }

type onlyWrites struct{ X int }

func (onlyWrites) MarshalText() ([]byte, error) { return nil, nil }

type hiddenPart struct{ X int }

type in[T any] struct {
	A struct {
		B []T `json:"b" jsonschema:"b"`
	} `json:"a" jsonschema:"a"`
}

type out[T any] struct {
	A map[string]T `json:"a"`
}

// A type that cannot be decoded from what its schema allows, or encoded to it, is refused when
// the tool is added.
func TestAddTool_refusesTypes(t *testing.T) {
	for name, tt := range map[string]struct {
		add  func(s *Server)
		want string
	}{
		"chan":             {addIn[in[chan int]], "field A.B[]: chan int has no JSON form"},
		"func":             {addOut[out[func()]], "field A{}: func() has no JSON form"},
		"complex":          {addOut[out[complex128]], "field A{}: complex128 has no JSON form"},
		"own JSON":         {addIn[in[ownJSON]], "field A.B[]: mcp.ownJSON has its own JSON form: it needs a method JSONSchema"},
		"own JSON out":     {addOut[out[ownJSON]], "field A{}: mcp.ownJSON has its own JSON form"},
		"MarshalText only": {addIn[in[onlyWrites]], "field A.B[]: mcp.onlyWrites has a method MarshalText, and needs UnmarshalText"},
		"interface":        {addIn[in[io.Reader]], "field A.B[]: io.Reader is an interface"},
		"error":            {addOut[out[error]], "field A{}: error is an interface"},
		"map key":          {addIn[in[map[bool]int]], "field A.B[]: map key bool"},
		"malformed tag": {addIn[in[struct {
			//lint:ignore SA5008 this tag is to be refused
			X int `json:"x,omitEmpty" jsonschema:"x"`
		}]], "field A.B[]: struct"},
		"no exported fields": {addOut[out[struct{ x int }]], "no exported fields"},
		"embedded pointer to an unexported type": {addIn[struct {
			*hiddenPart
		}], "hiddenPart: an embedded pointer"},
		"format option": {addIn[struct {
			X time.Time `json:"x,format:unix" jsonschema:"x"`
		}], "unsupported `format` tag option"},
		"string option on a list": {addIn[struct {
			//lint:ignore SA5008 this tag is to be refused
			X []int `json:"x,string" jsonschema:"x"`
		}], "field X: the json option string is not for []int"},
		"minimum on a string": {addIn[struct {
			X string `json:"x" jsonschema:"x" minimum:"1"`
		}], "field X: tag minimum does not fit type string"},
		"enum of other type": {addIn[struct {
			X []int `json:"x" jsonschema:"x" enum:"1,b"`
		}], `field X: tag enum: "1,b": "b" is not JSON`},
		"enum with fraction": {addIn[struct {
			X int `json:"x" jsonschema:"x" enum:"1.5"`
		}], `1.5 is not of type integer`},
		"default outside": {addIn[struct {
			X int `json:"x" jsonschema:"x" default:"9" maximum:"5"`
		}], `field X: tag default: "9"`},
		"pattern": {addIn[struct {
			X string `json:"x" jsonschema:"x" pattern:"("`
		}], `field X: tag pattern: "("`},
		"negative length": {addIn[struct {
			X string `json:"x" jsonschema:"x" minLength:"-1"`
		}], `field X: tag minLength: "-1": want a number that is not negative`},
		"uniqueItems": {addIn[struct {
			X []int `json:"x" jsonschema:"x" uniqueItems:"yes"`
		}], `field X: tag uniqueItems: "yes": want "true"`},
		"minItems on a map": {addIn[struct {
			X map[string]int `json:"x" jsonschema:"x" minItems:"1"`
		}], "field X: tag minItems does not fit type object"},
		"words of other packages": {addIn[struct {
			X string `json:"x" jsonschema:"enum=a,enum=b"`
		}], "keywords have tags of their own"},
		"not an object": {addIn[[]int], "struct or a map"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), tt.want) {
					t.Errorf("panic = %v, want one with %q", v, tt.want)
				}
			}()
			tt.add(NewServer(Implementation{Name: "n", Version: "1"}, nil))
		})
	}
}

// Two fields with one name are an error, and not two missing members.
func TestInfer_sameName(t *testing.T) {
	field := func(name string) reflect.StructField {
		return reflect.StructField{Name: name, Type: reflect.TypeFor[int](), Tag: `json:"x"`}
	}
	_, err := (&inferrer{}).infer(reflect.StructOf([]reflect.StructField{field("X"), field("Y")}))
	if err == nil || !strings.Contains(err.Error(), `X and Y conflict over JSON object name "x"`) {
		t.Errorf("infer = %v", err)
	}
}

func addIn[In any](s *Server) {
	AddTool(s, Tool{Name: "a", Description: "d"}, func(context.Context, *Call, In) (string, error) { return "", nil })
}

func addOut[Out any](s *Server) {
	AddTool(s, Tool{Name: "a", Description: "d"}, func(context.Context, *Call, nothing) (out Out, err error) { return out, nil })
}

func TestDefaults(t *testing.T) {
	type inner struct {
		X int    `json:"x" jsonschema:"x" default:"7"`
		Y string `json:"y,omitempty" jsonschema:"y"`
	}
	type args struct {
		A    string            `json:"a" jsonschema:"a" default:"a\"b"`
		In   inner             `json:"in,omitzero" jsonschema:"inner"`
		List []inner           `json:"list,omitempty" jsonschema:"list"`
		Map  map[string]*inner `json:"map,omitempty" jsonschema:"map"`
		Tree *treeNode         `json:"tree,omitempty" jsonschema:"tree"`
		L    []int             `json:"l" jsonschema:"l" default:"[1,2]"`
	}
	n := newDefaults(schemaFor("t", reflect.TypeFor[args](), true))
	for text, want := range map[string]string{
		`{}`:                                     `{"a":"a\"b","l":[1,2]}`,
		`{ }`:                                    `{ "a":"a\"b","l":[1,2]}`,
		`{"a":"","l":[]}`:                        `{"a":"","l":[]}`,
		`{"a":"x","in":{"y":"}"},"l":[3]}`:       `{"a":"x","in":{"y":"}","x":7},"l":[3]}`,
		`{"l":[],"list":[{},{"x":1},{}],"a":""}`: `{"l":[],"list":[{"x":7},{"x":1},{"x":7}],"a":""}`,
		`{"l":[],"a":"","map":{"k":{},"list":{}}}`:                             `{"l":[],"a":"","map":{"k":{"x":7},"list":{"x":7}}}`,
		`{"l":[],"a":"","in":null,"list":7}`:                                   `{"l":[],"a":"","in":null,"list":7}`,
		`{"l":[],"a":"","tree":{"next":{"next":null,"kids":[{"next":null}]}}}`: `{"l":[],"a":"","tree":{"next":{"next":null,"kids":[{"next":null,"name":"leaf"}],"name":"leaf"},"name":"leaf"}}`,
	} {
		before := text
		if got := n.apply(json.RawMessage(text)); string(got) != want || text != before {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	several := `{"type":"object","anyOf":[{"type":"null"},{"properties":{"a":{"default":1}}},{"properties":{"b":{"default":2}}}]}`
	if got := newDefaults(json.RawMessage(several)).apply(json.RawMessage(`{}`)); string(got) != `{}` {
		t.Errorf("defaults of one of several alternatives were added: %s", got)
	}
	if n := newDefaults(schemaFor("t", reflect.TypeFor[numbers](), true)); n != nil {
		t.Errorf("there are no defaults, but %+v", n)
	}
}

// A list of titled choices has the form's own keyword.
func TestFormFor_titled(t *testing.T) {
	type form struct {
		One  titledSize   `json:"one"`
		Many []titledSize `json:"many" maxItems:"2"`
		Ptr  *colour      `json:"ptr"`
		Age  uint8        `json:"age" default:"30"`
	}
	const choices = `[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]`
	got, single, err := formFor[form]("k")
	want := `{"type":"object","properties":{"one":{"type":"string","oneOf":` + choices + `},"many":{"type":"array","maxItems":2,"items":{"anyOf":` + choices + `}},` +
		`"ptr":{"type":"string","enum":["red","green","blue"]},"age":{"type":"integer","minimum":0,"maximum":255,"default":30}},"required":["one","many","ptr"]}`
	if err != nil || single || !equalJSON(t, string(got), want) {
		t.Errorf("formFor = %s, %t, %v\nwant %s", got, single, err, want)
	}
	if _, _, err := formFor[treeNode]("k"); err == nil {
		t.Error("a tree is a form")
	}
}

// A default stands for what a client left out of a form.
func TestAsk_defaults(t *testing.T) {
	type order struct {
		Style string `json:"style" default:"oil"`
		Count int    `json:"count" maximum:"5"`
	}
	s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
	AddTool(s, Tool{Name: "order", Description: "Order."}, func(_ context.Context, c *Call, _ nothing) (order, error) {
		return Ask[order](c, "order", "What?")
	})
	got := request(t, s, "ann", "tools/call", `"name":"order","inputResponses":{"order":{"action":"accept","content":{"count":2.0}}}`)
	wantIn(t, "answered", got, `"structuredContent":{"style":"oil","count":2}`)
}
