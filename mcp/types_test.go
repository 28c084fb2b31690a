package mcp_test

import (
	"context"
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// kinds has types that programs have, with the tags that encoding/json knows.
type kinds struct {
	Int    int                `json:"int,omitempty" jsonschema:"an integer"`
	Wait   time.Duration      `json:"wait,omitempty" jsonschema:"nanoseconds"`
	When   time.Time          `json:"when,omitzero" jsonschema:"a time"`
	Number json.Number        `json:"number,omitempty" jsonschema:"a number"`
	Big    *big.Int           `json:"big,omitempty" jsonschema:"a big number"`
	Addr   netip.Addr         `json:"addr,omitzero" jsonschema:"an address"`
	Hash   [2]byte            `json:"hash" jsonschema:"a hash"`
	Data   []byte             `json:"data,omitempty" jsonschema:"data"`
	Text   int                `json:"text,string,omitempty" jsonschema:"a number as text"`
	Ports  map[int]string     `json:"ports,omitempty" jsonschema:"ports"`
	List   []string           `json:"list" jsonschema:"a list"`
	Tree   []*kinds           `json:"tree,omitempty" jsonschema:"more of the same"`
	Sums   map[string]big.Int `json:"sums,omitempty" jsonschema:"sums"`
	Flag   bool               `json:"flag,omitempty" jsonschema:"a flag"`
}

// What a program would get from encoding/json, it gets from a client, and the other way round.
func TestAddTool_types(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "echo", Description: "Echo."}, func(_ context.Context, _ *mcp.Call, in kinds) (kinds, error) { return in, nil })
	sums := *new(big.Int).Lsh(big.NewInt(1), 100)
	in := kinds{
		Int: 1, Wait: time.Second, When: time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC), Number: "1.50", Big: &sums,
		Addr: netip.MustParseAddr("::1"), Hash: [2]byte{1, 2}, Data: []byte("hi"), Text: 5, Ports: map[int]string{80: "http"}, List: []string{"<a>"},
		Tree: []*kinds{{List: []string{}}}, Sums: map[string]big.Int{"a": sums}, Flag: true,
	}
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		out, err := mcp.CallAs[kinds](t.Context(), c, "echo", in, nil)
		if err != nil || !reflect.DeepEqual(out, in) {
			t.Errorf("echo = %+v, %v", out, err)
		}
		res, err := c.Call(t.Context(), "echo", json.RawMessage(`{"int":1.0,"hash":[1,2e0],"list":[]}`), nil)
		if err != nil || res.Text() != `{"int":1,"hash":[1,2],"list":[]}` {
			t.Errorf("echo = %v, %v", res, err)
		}
		res, err = c.Call(t.Context(), "echo", json.RawMessage(`{"Int":1,"hash":[1,2],"list":[]}`), nil)
		if err == nil && !res.IsError {
			t.Errorf("a name in another case = %s", res.Text())
		}
	})
}

type drawing struct {
	Topic string   `json:"topic" jsonschema:"what to draw, in short" minLength:"1"`
	Style string   `json:"style" jsonschema:"drawing style" enum:"ink,oil" default:"ink"`
	Steps int      `json:"steps,omitempty" jsonschema:"number of steps" default:"4" minimum:"1" maximum:"50"`
	Tags  []string `json:"tags,omitempty" jsonschema:"labels" pattern:"^[a-z]+$" maxItems:"3"`
}

// Tags add keywords to the schema; defaults are there before the arguments are checked.
func TestAddTool_tags(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "draw", Description: "Draw."}, func(_ context.Context, c *mcp.Call, in drawing) (drawing, error) {
		if got := string(c.Arguments()); !strings.Contains(got, `"style"`) || !strings.Contains(got, `"steps"`) {
			t.Errorf("Arguments = %s", got)
		}
		return in, nil
	})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		for args, want := range map[string]string{
			`{"topic":"cat"}`: `{"topic":"cat","style":"ink","steps":4}`,
			`{"topic":"cat","steps":7,"style":"oil","tags":["a","b"]}`: `{"topic":"cat","style":"oil","steps":7,"tags":["a","b"]}`,
			`{"topic":""}`:                             "topic: want at least 1 character",
			`{"topic":"cat","style":"chalk"}`:          "style: want one of",
			`{"topic":"cat","steps":51}`:               "steps: want at most 50",
			`{"topic":"cat","tags":["A"]}`:             "tags[0]: want text that matches ^[a-z]+$",
			`{"topic":"cat","tags":["a","b","c","d"]}`: "tags: want at most 3 elements",
		} {
			res, err := c.Call(t.Context(), "draw", json.RawMessage(args), nil)
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = res.Text()
			}
			if want[0] == '{' && got != want || want[0] != '{' && (!strings.Contains(got, "invalid arguments: ") || !strings.Contains(got, want)) {
				t.Errorf("draw %s = %s, want %s", args, got, want)
			}
		}
	})
}

// A form has the tags of its type; a default stands for what the user left out.
func TestAsk_tags(t *testing.T) {
	type order struct {
		Style string `json:"style" enum:"ink,oil" default:"oil"`
		Count int    `json:"count" minimum:"1" maximum:"5"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "order", Description: "Order."}, func(_ context.Context, c *mcp.Call, _ struct{}) (order, error) {
		return mcp.Ask[order](c, "order", "What?")
	})
	answers := []string{`{"count":9}`, `{"count":2.0}`} // one that does not fit is asked for again
	n := 0
	o := &mcp.ClientOptions{Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if want := `"count":{"type":"integer","minimum":1,"maximum":5}`; !strings.Contains(string(p.RequestedSchema), want) {
			t.Errorf("the form is %s", p.RequestedSchema)
		}
		n++
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(answers[min(n, len(answers))-1])}, nil
	}}
	for _, r := range mcp.Revisions() {
		if r < mcp.R20250618 {
			continue
		}
		n = 0
		res, err := mcptest.Connect(t, s, &mcptest.Options{Revision: r, Client: *o}).Call(t.Context(), "order", nil, nil)
		if err != nil || res.Text() != `{"style":"oil","count":2}` || n != 2 {
			t.Errorf("%s: order = %v, %v after %d questions", r, res, err, n)
		}
	}
}
