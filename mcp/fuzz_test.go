package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// statelessCall is a call of a tool as the stateless era has it, before it runs.
func statelessCall(s *Server, principal, name string, arguments json.RawMessage) *Call {
	params := json.RawMessage(`{"name":` + string(appendString(nil, name)) + `,"arguments":` + string(arguments) + `}`)
	r := &Request{ID: jsonrpc.IntID(1), Method: "tools/call", params: params, Revision: LatestRevision, Principal: Principal{ID: principal}}
	r.parse()
	r.server = s
	return &Call{Request: r, rounds: &rounds{n: 1}}
}

// validObject reports whether b could stand in a message.
func validObject(b []byte) bool {
	msg := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":`), b...)
	p, err := jsonrpc.Decode(append(msg, "}}"...), jsonrpc.Limits{})
	if err != nil {
		return false
	}
	a := fieldOf(p.Message.Params, "a")
	return len(a) > 0 && a[0] == '{' && bytes.Equal(bytes.TrimSpace(b), a)
}

// sameJSON reports whether two texts hold the same value, numbers being the same
// only if they are written the same.
func sameJSON(a, b []byte) bool {
	read := func(b []byte) (v any) {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		_ = d.Decode(&v)
		return v
	}
	return reflect.DeepEqual(read(a), read(b))
}

// FuzzRequestState: a state opens for the very request it was sealed for, as
// long as it lives, and for nothing else.
func FuzzRequestState(f *testing.F) {
	const principal, name, arguments = "local", "tool", `{"a":1,"b":["x",{"c":null}],"n":9007199254740993}`
	f.Add(principal, name, []byte(arguments), uint16(0), byte(0), int64(0), "")
	f.Add(principal, name, []byte(`{"b":["x",{"c":null}],"n":9007199254740993, "a":1}`), uint16(0), byte(0), int64(0), "")
	f.Add(principal, name, []byte(`{"a":1,"b":["x",{"c":null}],"n":9007199254740992}`), uint16(0), byte(0), int64(0), "")
	f.Add("other", name, []byte(arguments), uint16(0), byte(0), int64(0), "")
	f.Add(principal, "other", []byte(arguments), uint16(0), byte(0), int64(0), "")
	f.Add(principal, name, []byte(`{}`), uint16(0), byte(0), int64(0), "")
	f.Add(principal, name, []byte(arguments), uint16(9), byte(1), int64(0), "")
	f.Add(principal, name, []byte(arguments), uint16(0), byte(0), int64(700), "")
	f.Add(principal, name, []byte(arguments), uint16(0), byte(0), int64(0), "-TAMPERED")
	s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
	first := statelessCall(s, principal, name, json.RawMessage(arguments))
	digest, err := first.digest()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, p, n string, args []byte, at uint16, flip byte, late int64, tail string) {
		if !validObject(args) || late < 0 || late > 1<<40 || strings.ToValidUTF8(n, "") != n {
			return
		}
		b, err := jsonv2.Marshal(requestState{Principal: principal, Expires: time.Now().Add(stateLife).Unix() - late, Round: 1, Digest: digest})
		if err != nil {
			t.Fatal(err)
		}
		token := []byte(s.o.Keyring.Seal(statePurpose, b))
		token[int(at)%len(token)] ^= flip
		token = append(token, tail...)
		same := p == principal && n == name && sameJSON(args, []byte(arguments)) && flip == 0 && tail == "" && late < int64(stateLife.Seconds())-1
		if late == int64(stateLife.Seconds())-1 || late == int64(stateLife.Seconds()) {
			return // it may expire while we look
		}
		state, err := statelessCall(s, p, n, args).openRequestState(appendString(nil, string(token)))
		if (err == nil) != same {
			t.Fatalf("openState(%s) for %q, %q, %s, late by %d = %+v, %v; want it accepted: %v", token, p, n, args, late, state, err, same)
		}
	})
}

// FuzzCursor: a cursor is one of ours or refused, and lists what comes behind it.
func FuzzCursor(f *testing.F) {
	var c catalog[string]
	for _, name := range []string{"a", "b", "c", "é", "\x00"} {
		c.set(name, name)
	}
	f.Add([]byte(`"` + newCursor("b") + `"`))
	f.Add([]byte(`"` + newCursor("\xff") + `"`))
	f.Add([]byte(`""`))
	f.Add([]byte(`7`))
	f.Add([]byte(`"AGFmdGVyOg"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !jsontext.Value(raw).IsValid() {
			return
		}
		after, err := parseCursor(raw)
		items, next, pageErr := c.page(raw, 2, func(string) bool { return true })
		if err != nil {
			if e, ok := err.(*jsonrpc.Error); !ok || e.Code != jsonrpc.CodeInvalidParams || pageErr == nil || items != nil {
				t.Fatalf("readCursor(%s) = %v, page = %q, %v, want -32602 and no data", raw, err, items, pageErr)
			}
			return
		}
		if after != "" {
			var text string
			if err := jsonv2.Unmarshal(raw, &text); err != nil || text != newCursor(after) {
				t.Fatalf("readCursor(%s) = %q, which is written %q", raw, after, newCursor(after))
			}
		}
		for _, item := range items {
			if item <= after && after != "" {
				t.Fatalf("the page behind %q holds %q", after, item)
			}
		}
		if next != "" && len(items) != 2 {
			t.Fatalf("page(%s) = %q and goes on", raw, items)
		}
	})
}

// FuzzSchema: what the quick checker accepts, the full one does.
func FuzzSchema(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"string","enum":["x","y"]}}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"boolean"},"c":{"type":"null"},"d":{}},"required":["a","a"]}`,
		`{"enum":["x"]}`, `{"type":"string","enum":["é","\u00e9"]}`, `{"type":"array","items":{"type":"object","required":["k"]}}`, `{"properties":{"a":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":1.5},"b":{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"string","pattern":"^x"}}}}`,
		`{"type":["null","string"],"minLength":1,"maxLength":2}`, `{"type":"number","exclusiveMinimum":-2000,"exclusiveMaximum":12,"multipleOf":0.5}`, `{"minimum":3,"maxLength":0,"maxItems":0}`,
		`{"type":["null","string"],"oneOf":[{"const":"x","title":"X"},{"const":"é"},{"type":"null"}]}`, `{"oneOf":[{"const":"x"}],"enum":["y"]}`, `{"type":["null","integer"],"enum":[12,null]}`,
		`{"type":"object","additionalProperties":{"type":"integer","minimum":1},"required":["a"]}`,
		`{"anyOf":[{"type":"null"},{"type":"string","enum":["x"]}]}`, `{"type":"string","anyOf":[{"type":"null"},{"type":"string"}]}`, `{"anyOf":[{"type":"null"},{"type":"integer"},{"type":"string"}]}`,
		`{"type":"integer","enum":["1"]}`, `{"type":"object","additionalProperties":{"not":{}}}`, `{"type":"object","items":{"type":"string"},"required":[]}`,
	} {
		for _, value := range []string{`{}`, `{"a":1,"b":["x"]}`, `{"a":-0,"d":[{}]}`, `"x"`, `"\u00e9"`, `[{"k":1}]`, `12`, `-1.5e3`, `1.0`, `null`, `{"a":"s"}`} {
			f.Add([]byte(schema), []byte(value))
		}
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		value = bytes.TrimSpace(value)
		if !jsontext.Value(schema).IsValid() || !jsontext.Value(value).IsValid() {
			return
		}
		q := newQuickChecker(schema)
		if q == nil {
			return
		}
		accepts, misfit := q.accepts(value), q.violation("", value)
		if !accepts && misfit == "" {
			return
		}
		c, err := newChecker(schema)
		if err != nil {
			return
		}
		var v any
		if err := jsonv2.Unmarshal(value, &v, clampNumbers); err != nil {
			t.Fatal(err)
		}
		switch err := c.full.Validate(v); {
		case accepts && (err != nil || misfit != ""):
			t.Fatalf("quick accepts %s by %s, the full check says %v, misfit %q", value, schema, err, misfit)
		case misfit != "" && err == nil:
			t.Fatalf("quick says of %s by %s: %s; the full check accepts it", value, schema, misfit)
		}
	})
}

type inner struct {
	Word string            `json:"word"`
	List []string          `json:"list,omitzero"`
	Map  map[string]int    `json:"map"`
	Deep *inner2           `json:"deep,omitzero"`
	Many []inner2          `json:"many"`
	Refs []*inner2         `json:"refs,omitempty"`
	By   map[string]inner2 `json:"by,omitzero"`
}

type inner2 struct {
	Colour colour  `json:"colour"`
	Ratio  float64 `json:"ratio,omitempty"`
	On     *bool   `json:"on"`
}

type embedded struct {
	inner2
	Named   string    `json:"named"`
	Count   uint8     `json:"count"`
	Any     any       `json:"any"`
	Pair    [2]int    `json:"pair"`
	When    time.Time `json:"when,omitzero"`
	Ignored string    `json:"-"`
	Bare    string
	Colours []colour           `json:"colours"`
	Maybe   *colour            `json:"maybe"`
	Opt     *int               `json:"opt,omitzero"`
	Nested  map[string][]inner `json:"nested"`
	Raw     json.RawMessage    `json:"raw,omitzero"`
	Bytes   []byte             `json:"bytes"`
}

// FuzzInference: what a Go value is written as fits the schema inferred from its
// type.
func FuzzInference(f *testing.F) {
	f.Add("", int64(0), 0.0, false, uint8(0), uint16(0))
	f.Add("word", int64(-3), 1.5, true, uint8(1), uint16(0xffff))
	f.Fuzz(func(t *testing.T, s string, n int64, x float64, b bool, pick uint8, fields uint16) {
		s = strings.ToValidUTF8(s, "")
		if x != x || x-x != 0 {
			x = 1 // JSON has neither NaN nor infinity
		}
		on := func(bit int) bool { return fields>>bit&1 == 1 }
		i2 := inner2{Colour: colour([]string{"red", "green", "blue"}[pick%3]), Ratio: x}
		if on(0) {
			i2.On = &b
		}
		in := inner{Word: s}
		if on(1) {
			in.List, in.Map = []string{s, ""}, map[string]int{s: int(n)}
		}
		if on(2) {
			in.Deep, in.Many = &i2, []inner2{i2, i2}
		}
		if on(3) {
			in.Refs = []*inner2{&i2}
		}
		if on(4) {
			in.By = map[string]inner2{s: i2, "": i2}
		}
		e := embedded{inner2: i2, Named: s, Count: pick, Pair: [2]int{int(n), 1}, Bare: s}
		if on(5) {
			e.Any, e.When = map[string]any{s: []any{n, x, b, nil}}, time.Unix(n%(1<<33), 0).UTC()
		}
		if on(6) {
			e.Colours, e.Maybe = []colour{i2.Colour}, &i2.Colour
		}
		if on(7) {
			e.Nested = map[string][]inner{s: {in}, "nil": nil}
		}
		if on(8) {
			e.Opt = new(int)
		}
		if on(9) {
			e.Raw, e.Bytes = json.RawMessage(`[1]`), []byte(s)
		}
		fits(t, numbers{int(n), -1})
		fits(t, sum{int(n)})
		fits(t, nothing{})
		fits(t, person{s, int(n), i2.Colour})
		fits(t, i2)
		fits(t, in)
		fits(t, e)
		fits(t, &in)
		fits(t, []inner{in})
		fits(t, map[string]*inner2{s: &i2})
		fits(t, []string(nil))
		fits(t, map[string]bool(nil))
		fits(t, n)
		fits(t, b)
		fits(t, i2.Colour)
	})
}

func fits[T any](t *testing.T, v T) {
	t.Helper()
	schema, c := inferred[T](t)
	b, err := jsonv2.Marshal(v)
	if err != nil {
		t.Fatalf("Marshal(%+v): %v", v, err)
	}
	var instance any
	if err := jsonv2.Unmarshal(b, &instance); err != nil {
		t.Fatal(err)
	}
	if err := c.full.Validate(instance); err != nil {
		t.Fatalf("%T is written %s, which does not fit %s: %v", v, b, schema, err)
	}
	if err := c.check(b); err != nil {
		t.Fatalf("check(%s) = %v", b, err)
	}
	var back T
	if err := jsonv2.Unmarshal(b, &back); err != nil {
		t.Fatalf("%s does not read back: %v", b, err)
	}
}

var inferredTypes sync.Map // reflect.Type → what inferred keeps

// inferred is the schema of a type, worked out once.
func inferred[T any](t *testing.T) (json.RawMessage, *checker) {
	type entry struct {
		schema json.RawMessage
		check  *checker
	}
	if e, ok := inferredTypes.Load(reflect.TypeFor[T]()); ok {
		return e.(entry).schema, e.(entry).check
	}
	schema := schemaFor("tool", reflect.TypeFor[T](), false)
	c, err := newChecker(schema)
	if err != nil {
		t.Fatal(err)
	}
	inferredTypes.Store(reflect.TypeFor[T](), entry{schema, c})
	return schema, c
}

// FuzzServe: whatever lines come in, the server does not panic, what it sends is
// JSON-RPC, and no id is answered more often than it was asked.
func FuzzServe(f *testing.F) {
	for _, in := range readAdversarial(f) {
		if b := in.bytes(); len(b) < 10_000 {
			f.Add(uint8(len(b)), b)
		}
	}
	files, _ := filepath.Glob("testdata/*/*.txtar")
	for i, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var lines []byte
		for line := range strings.Lines(string(b)) {
			if text, ok := strings.CutPrefix(line, "-> "); ok {
				lines = append(lines, abbreviations.Replace(text)...)
			}
		}
		f.Add(uint8(i), lines)
	}
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		if len(data) > 100_000 {
			return
		}
		synctest.Test(t, func(t *testing.T) { serveAnything(t, how, data) })
	})
}

func serveAnything(t *testing.T, how uint8, data []byte) {
	s := newFixture(ServerOptions{}, func(v any) {
		if v != "oh no" && v != "the rocket panics" { // those of the fixture
			t.Errorf("panic: %v", v)
		}
	})
	c := newRawClient(t, s)
	asked := map[jsonrpc.ID]int{jsonrpc.StringID("open"): 1}
	if n := int(how) % (len(Revisions()) + 1); n > 0 {
		c.open(Revisions()[n-1])
	}
	for line := range bytes.Lines(data) {
		countAsked(asked, bytes.Trim(line, " \t\r\n"))
	}
	c.send(data)
	c.end()
	answered := map[jsonrpc.ID]int{}
	for _, line := range c.take() {
		p, err := jsonrpc.Decode([]byte(line), jsonrpc.Limits{})
		if err != nil {
			t.Fatalf("sent %q: %v", line, err)
		}
		for _, e := range append(p.Batch, jsonrpc.Element{Message: p.Message}) {
			switch m := e.Message; {
			case e.Malformed != nil:
				t.Fatalf("sent %q: %v", line, e.Malformed)
			case m != nil && m.IsResponse() && !m.ID.IsZero():
				if answered[m.ID]++; answered[m.ID] > asked[m.ID] {
					t.Fatalf("id %s was asked %d times and is answered more often: %s", m.ID, asked[m.ID], line)
				}
			}
		}
	}
}

// countAsked counts the ids that a line may be answered to.
func countAsked(asked map[jsonrpc.ID]int, line []byte) {
	p, err := jsonrpc.Decode(bytes.Clone(line), jsonrpc.Limits{})
	if bad, ok := err.(*jsonrpc.Malformed); ok {
		asked[bad.ID]++
		return
	}
	for _, e := range append(p.Batch, jsonrpc.Element{Message: p.Message}) {
		switch {
		case e.Malformed != nil:
			asked[e.Malformed.ID]++
		case e.Message != nil:
			asked[e.Message.ID]++
		}
	}
}
