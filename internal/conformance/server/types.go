package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// A size is a choice with titles.
type size string

func (size) Enum() []string  { return []string{"s", "l"} }
func (s size) Title() string { return map[size]string{"s": "Small", "l": "Large"}[s] }

// A celsius has its own JSON form, and so its own schema.
type celsius float64

func (c celsius) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%.1f", float64(c)), nil }

func (c *celsius) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	*c = celsius(f)
	return err
}

func (celsius) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"number","minimum":-273.15}`)
}

// A place is a type of the fields of everyType.
type place struct {
	Name string `json:"name" jsonschema:"name"`
}

// Promoted is embedded in everyType, which gets its fields.
type Promoted struct {
	Part string `json:"part,omitempty" jsonschema:"a field of an embedded struct"`
}

// everyType has every kind of Go type and every tag that AddTool takes. Clients
// read the schema, and check results against it.
type everyType struct {
	Text   string          `json:"text" jsonschema:"text" minLength:"1" maxLength:"80" pattern:"^[a-z]+$" title:"Text" examples:"abc"`
	Mail   string          `json:"mail,omitempty" jsonschema:"address" format:"email"`
	Style  string          `json:"style" jsonschema:"style" enum:"ink,oil" default:"ink"`
	Size   size            `json:"size" jsonschema:"size" default:"s"`
	Steps  int             `json:"steps" jsonschema:"steps" default:"4" minimum:"1" maximum:"50"`
	Small  int8            `json:"small,omitempty" jsonschema:"a small number"`
	Count  uint            `json:"count,omitempty" jsonschema:"count"`
	Ratio  float64         `json:"ratio" jsonschema:"ratio" default:"0.5" exclusiveMinimum:"0" exclusiveMaximum:"9" multipleOf:"0.5"`
	Flag   bool            `json:"flag" jsonschema:"flag" default:"true"`
	Tags   []string        `json:"tags" jsonschema:"labels" default:"[\"x\"]" enum:"x,y" minItems:"1" maxItems:"3" uniqueItems:"true"`
	Pair   [2]int          `json:"pair,omitzero" jsonschema:"two numbers"`
	Map    map[string]int  `json:"map,omitempty" jsonschema:"numbers by name"`
	Ports  map[int]string  `json:"ports,omitempty" jsonschema:"names by port"`
	Maybe  *int            `json:"maybe" jsonschema:"a number or null"`
	When   time.Time       `json:"when,omitzero" jsonschema:"time"`
	Wait   time.Duration   `json:"wait,omitempty" jsonschema:"nanoseconds"`
	Addr   netip.Addr      `json:"addr,omitzero" jsonschema:"address"`
	Big    *big.Int        `json:"big,omitempty" jsonschema:"a big number"`
	Number json.Number     `json:"number,omitempty" jsonschema:"a number"`
	Data   []byte          `json:"data,omitempty" jsonschema:"data"`
	Quoted int             `json:"quoted,string,omitempty" jsonschema:"a number as text"`
	Any    any             `json:"any,omitempty" jsonschema:"anything"`
	Raw    json.RawMessage `json:"raw,omitempty" jsonschema:"anything"`
	Inner  struct {
		X int `json:"x" jsonschema:"x"`
	} `json:"inner,omitzero" jsonschema:"an object"`
	Promoted
	Point  *place           `json:"point,omitempty" jsonschema:"an object or nothing"`
	Long   int64            `json:"long,omitempty" jsonschema:"a long number"`
	Wide   uint64           `json:"wide,omitempty" jsonschema:"a long positive number"`
	Single float32          `json:"single,omitempty" jsonschema:"a number of 32 bits"`
	Own    celsius          `json:"own,omitempty" jsonschema:"a type with its own form"`
	Sizes  []size           `json:"sizes,omitempty" jsonschema:"choices"`
	Places []place          `json:"places,omitempty" jsonschema:"objects"`
	ByName map[string]place `json:"byName,omitempty" jsonschema:"objects by name"`
	BySize map[size]*place  `json:"bySize,omitempty" jsonschema:"objects by choice"`
	Matrix [][]float64      `json:"matrix,omitempty" jsonschema:"lists of numbers"`
	Hash   [4]byte          `json:"hash,omitzero" jsonschema:"bytes of a fixed number"`

	Tree []*everyType `json:"tree,omitempty" jsonschema:"more of the same"`
}

// addTypes adds tools with types of every kind.
func addTypes(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "test_types", Description: "Take and answer with values of every type."},
		func(_ context.Context, _ *mcp.Call, in everyType) (everyType, error) { return in, nil })
	mcp.AddTool(s, mcp.Tool{Name: "test_any", Description: "Answer with a value of any type."},
		func(_ context.Context, _ *mcp.Call, in map[string]any) (any, error) { return in, nil })
	mcp.AddTool(s, mcp.Tool{Name: "test_list", Description: "Answer with a list."},
		func(_ context.Context, _ *mcp.Call, _ nothing) ([]int, error) { return []int{1, 2}, nil })
	mcp.AddTool(s, mcp.Tool{Name: "test_output", Description: "Answer with a value and an image."},
		func(_ context.Context, _ *mcp.Call, _ nothing) (mcp.Output[map[string]int], error) {
			return mcp.Output[map[string]int]{
				Value: map[string]int{"a": 1}, Content: []mcp.Content{mcp.Image(png, "image/png")}, Meta: mcp.Meta{"com.example/k": "v"},
			}, nil
		})
}
