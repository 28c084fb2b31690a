package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type codecInner struct {
	A int `json:"a"`
	B int `json:"b,omitempty"`
}

type codecOuter struct {
	codecInner
	D int
}

// Values are encoded as encoding/json encodes them, but nil slices and maps are empty, and
// nothing is escaped for HTML.
func TestUserCodec_encode(t *testing.T) {
	for name, v := range map[string]any{
		"omitempty": struct {
			N int               `json:"n,omitempty"`
			B bool              `json:"b,omitempty"`
			S string            `json:"s,omitempty"`
			P *int              `json:"p,omitempty"`
			L []int             `json:"l,omitempty"`
			M map[string]string `json:"m,omitempty"`
			I any               `json:"i,omitempty"`
			T struct{}          `json:"t,omitempty"`
			Z time.Time         `json:"z,omitzero"`
		}{},
		"duration": struct{ D time.Duration }{time.Second},
		"number":   struct{ N, Zero json.Number }{N: "3.50"},
		"held":     map[string]any{"n": json.Number("1e400")},
		"nil": struct {
			P *int
			I any
			R json.RawMessage
		}{},
		"embedded": codecOuter{codecInner: codecInner{A: 1}, D: 4},
		"string": struct {
			N int    `json:"n,string"`
			B bool   `json:"b,string"`
			S string `json:"s,string"`
			P *int   `json:"p,string"`
		}{3, true, "x", new(4)},
		"bytes": struct {
			B []byte
			A [2]byte
			R json.RawMessage
		}{[]byte("hi"), [2]byte{1, 2}, json.RawMessage(`{"a":1}`)},
		"time":    struct{ T time.Time }{time.Date(2026, 7, 28, 1, 2, 3, 4000, time.UTC)},
		"map":     map[string]int{"b": 1, "a": 2, "é": 3, "Z": 4},
		"intmap":  map[int]string{10: "x", 9: "y"},
		"nan":     struct{ F float64 }{math.NaN()},
		"float":   []float64{1e21, 1e-7, 0.1, 100, 1.5e300},
		"float32": []float32{0.1, 1e21, 16777216},
		"html":    struct{ S string }{"<a&b>"},
		"text": struct {
			A netip.Addr
			I *big.Int
			M map[netip.Addr]int
		}{netip.MustParseAddr("::1"), big.NewInt(7), map[netip.Addr]int{netip.MustParseAddr("1.2.3.4"): 1}},
		"chan": struct{ C chan int }{},
		"shadow": struct {
			codecInner
			A string `json:"a"`
		}{codecInner{1, 2}, "x"},
	} {
		var std bytes.Buffer
		e := json.NewEncoder(&std)
		e.SetEscapeHTML(false)
		stdErr := e.Encode(v)
		got, err := encodeUser(v)
		if want := strings.TrimSuffix(std.String(), "\n"); (err != nil) != (stdErr != nil) || err == nil && string(got) != want {
			t.Errorf("%s: %s, %v, want %s, %v", name, got, err, want, stdErr)
		}
	}
	got, err := encodeUser(struct {
		L []int
		M map[string]int
		B []byte
		S string
	}{S: "\u2028 a\xffb"})
	if want := "{\"L\":[],\"M\":{},\"B\":\"\",\"S\":\"\u2028 a\ufffdb\"}"; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if got, err := encodeUser(json.RawMessage(`{"a":1,"a":2}`)); err == nil {
		t.Errorf("duplicate names are encoded as %s", got)
	}
}

// Text is decoded as encoding/json decodes it, but names are case-sensitive.
func TestUserCodec_decode(t *testing.T) {
	type in struct {
		N int            `json:"n"`
		D time.Duration  `json:"d"`
		J json.Number    `json:"j"`
		P *int           `json:"p"`
		L []int          `json:"l"`
		M map[string]int `json:"m"`
		B []byte         `json:"b"`
		A [2]byte        `json:"a"`
		T time.Time      `json:"t"`
		S string         `json:"s"`
		Q int            `json:"q,string"`
		F float64        `json:"f"`
		I any            `json:"i"`
		X netip.Addr     `json:"x"`
		codecInner
	}
	codec := codecFor(reflect.TypeFor[in]())
	for _, text := range []string{
		`{"n":1}`, `{"d":1000000000}`, `{"d":"1s"}`, `{"j":3.50}`, `{"j":"3.50"}`, `{"p":null}`, `{"p":3}`, `{"l":null}`, `{"m":null}`, `{"n":null}`,
		`{"b":"aGk="}`, `{"b":"a"}`, `{"a":[1,2]}`, `{"a":[1]}`, `{"a":[1,2,3]}`, `{"t":"2026-07-28T01:02:03Z"}`, `{"t":"yesterday"}`,
		`{"q":"3"}`, `{"q":3}`, `{"f":1e400}`, `{"i":{"a":[1,null]}}`, `{"n":1.5}`, `{"n":99999999999999999999}`, `{"x":"::1"}`, `{"x":"?"}`, `{"unknown":1}`,
	} {
		var got, want in
		stdErr, err := json.Unmarshal([]byte(text), &want), codec.decode(json.RawMessage(text), &got)
		if (err != nil) != (stdErr != nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v, %v", text, got, err, want, stdErr)
		}
	}
	var got in
	if err := codec.decode(json.RawMessage(`{"N":1,"A":[1,2]}`), &got); err != nil || !reflect.DeepEqual(got, in{}) {
		t.Errorf("names in another case: %+v, %v", got, err)
	}
}

// What JSON Schema calls an integer is one, however it is written.
func TestUserCodec_integers(t *testing.T) {
	type in struct {
		A int            `json:"a"`
		B []int32        `json:"b"`
		U uint64         `json:"u"`
		F float64        `json:"f"`
		X map[string]any `json:"x"`
	}
	for text, want := range map[string]*in{
		`{"a":1.0,"b":[1e2,-3E+0,0.0e5,-0.0],"f":2.0,"u":18446744073709551615}`: {A: 1, B: []int32{100, -3, 0, 0}, F: 2, U: math.MaxUint64},
		`{"a":12.5e1,"x":{"a":7.0}}`: {A: 125, X: map[string]any{"a": 7.0}},
		`{"a":1.5}`:                  nil,
		`{"a":1e-1}`:                 nil,
		`{"a":1e999999999}`:          nil,
		`{"a":1e30}`:                 nil,
		`{"b":[1e10]}`:               nil,
		`{"a":"1.0"}`:                nil,
	} {
		var got in
		err := codecFor(reflect.TypeFor[in]()).decode(json.RawMessage(text), &got)
		if (err != nil) != (want == nil) || err == nil && !reflect.DeepEqual(got, *want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
