package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

type quickSize string

type quickLoud string

func (q *quickLoud) UnmarshalText(b []byte) error {
	*q = quickLoud(strings.ToUpper(string(b)))
	return nil
}

type quickArgs struct {
	Text string        `json:"text"`
	Size quickSize     `json:"size,omitempty"`
	Loud quickLoud     `json:"loud,omitempty"`
	On   bool          `json:"on"`
	N    int8          `json:"n"`
	Wait time.Duration `json:"wait,omitzero"`
	L    []string      `json:"l"`
	P    *string       `json:"p"`
	Any  any           `json:"any"`
	U    uint16        `json:"u"`
	Skip string        `json:"-"`
}

// Members decoded one by one give what the JSON package makes of the whole object.
func TestQuickDecoder(t *testing.T) {
	quick := codecFor(reflect.TypeFor[quickArgs]())
	if quick.quick == nil || quick.quick.simple {
		t.Fatalf("the quick decoder of %T is %+v", quickArgs{}, quick.quick)
	}
	whole := &userCodec{in: quick.in, out: quick.out}
	pad := `,"unknown":"` + strings.Repeat("x", worthSplitting) + `"}`
	for _, text := range []string{
		`{"text":"a"`, `{"text":""`, `{"text":"\u00e9\n\"\\"`, `{"text":"é東"`, `{"text":null`, `{"text":1`, `{"text":["a"]`, `{"Text":"a"`,
		`{"size":"big"`, `{"size":2`, `{"loud":"a"`, `{"loud":null`, `{"on":true`, `{"on":false`, `{"on":null`, `{"on":"true"`, `{"on":1`,
		`{"n":1`, `{"n":-128`, `{"n":128`, `{"n":-0`, `{"n":1.0`, `{"n":1e1`, `{"n":1.5`, `{"n":"1"`, `{"n":null`, `{"wait":1000`, `{"wait":"1s"`,
		`{"l":["a",null]`, `{"l":null`, `{"l":"a"`, `{"p":null`, `{"p":"x"`, `{"any":{"a":[1]}`, `{"u":65536`, `{"u":7`, `{"-":"x"`, `{"Skip":"x"`,
		`{"u":7 , "text" : "z" ,"n": 5`, `{"\u0074ext":"escaped name"`,
	} {
		var got, want quickArgs
		gotErr, wantErr := quick.decode(json.RawMessage(text+pad), &got), whole.decode(json.RawMessage(text+pad), &want)
		if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
			t.Errorf("%s…: %+v, %v, want %+v, %v", text, got, gotErr, want, wantErr)
		}
	}
	var got quickArgs
	long := strings.Repeat("0123456789", 10_000)
	if err := quick.decode(json.RawMessage(`{"text":"`+long+`","n":3}`), &got); err != nil || got.Text != long || got.N != 3 {
		t.Errorf("a large text: %d bytes, %v", len(got.Text), err)
	}
}

// Types that need the rules of encoding/json are left to the JSON package.
func TestQuickDecoder_refuses(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[map[string]string](), reflect.TypeFor[time.Time](),
		reflect.TypeFor[struct{ A string }](),
		reflect.TypeFor[struct {
			A int `json:"a,string"`
		}](),
		reflect.TypeFor[struct {
			A string `json:"'a'"`
		}](),
		reflect.TypeFor[codecOuter](),
	} {
		if newQuickDecoder(typ) != nil {
			t.Errorf("%v has a quick decoder", typ)
		}
	}
}
