package jsonrpc_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/jsonrpc"
)

const (
	parse   = jsonrpc.CodeParse
	invalid = jsonrpc.CodeInvalidRequest
	unknown = jsonrpc.CodeMethodNotFound
)

// hostile is what a hostile or careless peer may send, with the answer that is
// due. The numbers are those of the threat model's list of inputs.
var hostile = []struct {
	name   string
	in     string
	code   int    // 0: accepted
	id     string // of the message, or of the answer
	silent bool
}{
	{"1 method twice", `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, invalid, "1", false},
	{"2 id twice", `{"jsonrpc":"2.0","id":1,"method":"a","id":2}`, invalid, "", false},
	{"2 id twice, the same", `{"jsonrpc":"2.0","id":1,"method":"a","id":1}`, invalid, "", false},
	{"3 twice in params", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"x":2}}`, invalid, "1", false},
	{"3 twice in arguments", `{"jsonrpc":"2.0","id":"q","method":"a","params":{"arguments":{"x":1,"y":2,"x":1}}}`, invalid, `"q"`, false},
	{"3 twice in _meta, id last", `{"jsonrpc":"2.0","method":"a","params":{"_meta":{"x":1,"x":2}},"id":7}`, invalid, "7", false},
	{"3 twice in an array in params", `{"jsonrpc":"2.0","id":1,"method":"a","params":[[{"x":[{"k":1,"k":1}]}]]}`, invalid, "1", false},
	{"4 twice by escape", `{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}`, invalid, "1", false},
	{"4 one name, escaped", `{"jsonrpc":"2.0","id":1,"\u006dethod":"b"}`, 0, "1", false},
	{"4 id twice by escape", `{"jsonrpc":"2.0","id":1,"method":"a","\u0069d":1}`, invalid, "", false},
	{"4 twice by escape in params", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"/":1,"\/":2}}`, invalid, "1", false},
	{"5 Method", `{"jsonrpc":"2.0","id":1,"Method":"tools/call"}`, invalid, "1", false},
	{"6 method and Method", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`, invalid, "1", false},
	{"7 long s", `{"jsonrpc":"2.0","id":1,"method":"a","param\u017f":{}}`, invalid, "1", false},
	{"7 Kelvin sign", `{"jsonrpc":"2.0","id":1,"method":"a","tas\u212a":{}}`, invalid, "1", false},
	{"8 NUL in a name", `{"jsonrpc":"2.0","id":1,"method":"a","method\u0000":"x"}`, invalid, "1", false},
	{"9 no version", `{"id":1,"method":"a"}`, invalid, "1", false},
	{"9 version 1.0", `{"jsonrpc":"1.0","id":1,"method":"a"}`, invalid, "1", false},
	{"9 version a number", `{"jsonrpc":2.0,"id":1,"method":"a"}`, invalid, "1", false},
	{"9 version with a blank", `{"jsonrpc":"2.0 ","id":1,"method":"a"}`, invalid, "1", false},
	{"9 version escaped", `{"jsonrpc":"\u0032.0","id":1,"method":"a"}`, 0, "1", false},
	{"10 id null", `{"jsonrpc":"2.0","id":null,"method":"a"}`, invalid, "", false},
	{"11 id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"a"}`, invalid, "", false},
	{"11 id 1.0", `{"jsonrpc":"2.0","id":1.0,"method":"a"}`, invalid, "", false},
	{"11 id 1e2", `{"jsonrpc":"2.0","id":1e2,"method":"a"}`, invalid, "", false},
	{"12 id -0", `{"jsonrpc":"2.0","id":-0,"method":"a"}`, invalid, "", false},
	{"12 id 0", `{"jsonrpc":"2.0","id":0,"method":"a"}`, 0, "0", false},
	{"12 id -1", `{"jsonrpc":"2.0","id":-1,"method":"a"}`, 0, "-1", false},
	{"12 id 01", `{"jsonrpc":"2.0","id":01,"method":"a"}`, parse, "", false},
	{"13 id beyond float64", `{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`, 0, "9007199254740993", false},
	{"13 id of 64 digits", `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 64) + `,"method":"a"}`, 0, strings.Repeat("9", 64), false},
	{"13 id of 65 digits", `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 65) + `,"method":"a"}`, invalid, "", false},
	{"13 id of 400 digits", `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 400) + `,"method":"a"}`, invalid, "", false},
	{"14 id 1e400", `{"jsonrpc":"2.0","id":1e400,"method":"a"}`, invalid, "", false},
	{"15 id true", `{"jsonrpc":"2.0","id":true,"method":"a"}`, invalid, "", false},
	{"15 id object", `{"jsonrpc":"2.0","id":{},"method":"a"}`, invalid, "", false},
	{"15 id array", `{"jsonrpc":"2.0","id":[],"method":"a"}`, invalid, "", false},
	{"16 id empty", `{"jsonrpc":"2.0","id":"","method":"a"}`, 0, `""`, false},
	{"16 id of 256 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 254) + `","method":"a"}`, 0, `"` + strings.Repeat("x", 254) + `"`, false},
	{"16 id of 257 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 255) + `","method":"a"}`, invalid, "", false},
	{"16 id of nearly 1 MiB", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1<<20-100) + `","method":"a"}`, invalid, "", false},
	{"16 id with NUL", `{"jsonrpc":"2.0","id":"\u0000","method":"a"}`, 0, `"\u0000"`, false},
	{"16 id a string of a digit", `{"jsonrpc":"2.0","id":"1","method":"a"}`, 0, `"1"`, false},
	{"19 depth 64", `{"jsonrpc":"2.0","id":1,"method":"a","params":` + nest(63) + `}`, 0, "1", false},
	{"19 depth 65", `{"jsonrpc":"2.0","id":1,"method":"a","params":` + nest(64) + `}`, invalid, "1", false},
	{"19 depth 65, id behind", `{"jsonrpc":"2.0","method":"a","params":` + nest(64) + `,"id":1}`, invalid, "1", false},
	{"19 depth 65, no id", `{"jsonrpc":"2.0","method":"a","params":` + nest(64) + `}`, parse, "", false},
	{"19 depth 65, two ids", `{"jsonrpc":"2.0","id":1,"method":"a","params":` + nest(64) + `,"id":2}`, parse, "", false},
	{"19 depth 65 in a result", `{"jsonrpc":"2.0","id":1,"result":` + nest(64) + `}`, invalid, "1", true},
	{"19 depth 65 in a result, id behind", `{"result":` + nest(64) + `,"jsonrpc":"2.0","id":1}`, invalid, "1", true},
	{"19 depth 65, bad id behind", `{"method":"a","params":` + nest(64) + `,"id":"` + "\xff" + `"}`, parse, "", false},
	{"19 a million brackets", strings.Repeat("[", 1<<20), parse, "", false},
	{"19 a million brackets in params", `{"jsonrpc":"2.0","id":1,"params":` + strings.Repeat("[", 1<<20-100), invalid, "1", false},
	{"20 invalid UTF-8", `{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, parse, "", false},
	{"20 overlong", `{"jsonrpc":"2.0","id":1,"method":"` + "\xc0\x80" + `"}`, parse, "", false},
	{"20 encoded surrogate", `{"jsonrpc":"2.0","id":1,"method":"` + "\xed\xa0\x80" + `"}`, parse, "", false},
	{"20 beyond U+10FFFF", `{"jsonrpc":"2.0","id":1,"method":"` + "\xf4\x90\x80\x80" + `"}`, parse, "", false},
	{"20 invalid UTF-8 in a name", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"` + "\xff" + `":1}}`, parse, "", false},
	{"20 U+FFFD itself", `{"jsonrpc":"2.0","id":1,"method":"` + "\ufffd" + `"}`, 0, "1", false},
	{"21 lone surrogate", `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, parse, "", false},
	{"21 reversed pair", `{"jsonrpc":"2.0","id":1,"method":"\udc00\ud800"}`, parse, "", false},
	{"21 half a pair", `{"jsonrpc":"2.0","id":1,"method":"\ud800\u0041"}`, parse, "", false},
	{"21 a pair", `{"jsonrpc":"2.0","id":1,"method":"\ud83d\ude00"}`, 0, "1", false},
	{"22 byte order mark", "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"a"}`, parse, "", false},
	{"23 UTF-16", "{\x00\"\x00i\x00d\x00\"\x00:\x001\x00}\x00", parse, "", false},
	{"23 UTF-32", "\x00\x00\x00{\x00\x00\x00}", parse, "", false},
	{"24 CR is white space", "{\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"a\"}\r", 0, "1", false},
	{"25 nothing", "", parse, "", false},
	{"25 blanks", " \t ", parse, "", false},
	{"26 newline in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\nb\"}", parse, "", false},
	{"26 half a message", `{"jsonrpc":"2.0",`, parse, "", false},
	{"26 the other half", `"id":1,"method":"a"}`, parse, "", false},
	{"27 NUL", "\x00", parse, "", false},
	{"27 NUL behind", `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\x00", parse, "", false},
	{"27 NUL in a string", `{"jsonrpc":"2.0","id":1,"method":"` + "\x00" + `"}`, parse, "", false},
	{"28 two objects", `{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"a"}`, parse, "", false},
	{"28 garbage behind", `{"jsonrpc":"2.0","id":1,"method":"a"} x`, parse, "", false},
	{"28 garbage behind a duplicate", `{"jsonrpc":"2.0","id":1,"method":"a","method":"a"} x`, parse, "", false},
	{"28 garbage behind a number", `1 x`, parse, "", false},
	{"28 a number with a leading zero", `01`, parse, "", false},
	{"28 garbage behind a batch", `[{"jsonrpc":"2.0","id":1,"method":"a"}],`, parse, "", false},
	{"28 comma at the end", `{"jsonrpc":"2.0","id":1,"method":"a",}`, parse, "", false},
	{"28 a number", `1`, invalid, "", false},
	{"28 a string", `"x"`, invalid, "", false},
	{"28 null", `null`, invalid, "", false},
	{"29 too large", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("a", 1<<20) + `"}`, invalid, "1", false},
	{"31 empty batch", `[]`, invalid, "", false},
	{"31 empty batch with a blank", `[ ]`, invalid, "", false},
	{"32 batch", `[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]`, 0, "", false},
	{"34 batch of 100", `[` + strings.Repeat(`0,`, 99) + `0]`, 0, "", false},
	{"34 batch of 101", `[` + strings.Repeat(`0,`, 100) + `0]`, invalid, "", false},
	{"34 batch of 100000", `[` + strings.Repeat(`0,`, 100_000) + `0]`, invalid, "", false},
	{"35 nested batch", `[[{"jsonrpc":"2.0","id":1,"method":"a"}]]`, 0, "", false},
	{"35 torn batch", `[{"jsonrpc":"2.0","id":1,"method":"a"}`, parse, "", false},
	{"38 unknown notification", `{"jsonrpc":"2.0","method":"nobody/knows"}`, 0, "", false},
	{"43 result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, invalid, "1", true},
	{"43 neither", `{"jsonrpc":"2.0","id":1}`, invalid, "1", false},
	{"43 error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}`, invalid, "1", true},
	{"43 error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, invalid, "1", true},
	{"43 code a string", `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}`, invalid, "1", true},
	{"43 code 1.5", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`, invalid, "1", true},
	{"43 Code", `{"jsonrpc":"2.0","id":1,"error":{"Code":1,"message":"m"}}`, invalid, "1", true},
	{"43 error null", `{"jsonrpc":"2.0","id":1,"error":null}`, invalid, "1", true},
	{"43 error a string", `{"jsonrpc":"2.0","id":1,"error":"no"}`, invalid, "1", true},
	{"43 result without id", `{"jsonrpc":"2.0","result":{}}`, invalid, "", true},
	{"43 result with id null", `{"jsonrpc":"2.0","id":null,"result":{}}`, invalid, "", true},
	{"43 response without version", `{"id":1,"result":{}}`, invalid, "1", true},
	{"43 response with id twice", `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, invalid, "", true},
	{"43 result null", `{"jsonrpc":"2.0","id":1,"result":null}`, 0, "1", false},
	{"43 error with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, 0, "", false},
	{"43 error without id", `{"jsonrpc":"2.0","error":{"code":1,"message":"m","data":null}}`, 0, "", false},
	{"43 response with more members", `{"jsonrpc":"2.0","id":1,"result":{},"more":1}`, 0, "1", false},
	{"44 method and result", `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, invalid, "1", false},
	{"44 method and error", `{"jsonrpc":"2.0","id":1,"method":"a","error":{"code":1,"message":"m"}}`, invalid, "1", false},
	{"45 params array", `{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}`, 0, "1", false},
	{"45 params string", `{"jsonrpc":"2.0","id":1,"method":"a","params":"x"}`, invalid, "1", false},
	{"45 params number", `{"jsonrpc":"2.0","id":1,"method":"a","params":1}`, invalid, "1", false},
	{"45 params null", `{"jsonrpc":"2.0","id":1,"method":"a","params":null}`, 0, "1", false},
	{"46 method null", `{"jsonrpc":"2.0","id":1,"method":null}`, invalid, "1", false},
	{"46 method a number", `{"jsonrpc":"2.0","id":1,"method":1}`, invalid, "1", false},
	{"46 method empty", `{"jsonrpc":"2.0","id":1,"method":""}`, unknown, "1", false},
	{"46 method empty, notification", `{"jsonrpc":"2.0","method":""}`, unknown, "", true},
	{"46 method of 254 bytes", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 254) + `"}`, 0, "1", false},
	{"46 method of 255 bytes", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 255) + `"}`, invalid, "1", false},
	{"46 method of nearly 1 MiB", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 1<<20-100) + `"}`, invalid, "1", false},
	{"46 method rpc.x", `{"jsonrpc":"2.0","id":1,"method":"rpc.x"}`, 0, "1", false},
	{"65 1e400", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"n":1e400}}`, 0, "1", false},
	{"65 1000 digits", `{"jsonrpc":"2.0","id":1,"method":"a","params":[` + strings.Repeat("1", 1000) + `]}`, 0, "1", false},
	{"65 1001 digits", `{"jsonrpc":"2.0","id":1,"method":"a","params":[` + strings.Repeat("1", 1001) + `]}`, invalid, "1", false},
	{"65 100000 digits", `{"jsonrpc":"2.0","method":"a","params":[` + strings.Repeat("1", 100_000) + `]}`, parse, "", false},
	{"66 names of prototypes", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"__proto__":{},"constructor":1,"toString":2}}`, 0, "1", false},
	{"numbers", `{"jsonrpc":"2.0","id":1,"method":"a","params":[0,-0,1.5,-1.5e+3,1E-2,0e0]}`, 0, "1", false},
	{"number with a bare point", `{"jsonrpc":"2.0","id":1,"method":"a","params":[1.]}`, parse, "", false},
	{"number with a bare exponent", `{"jsonrpc":"2.0","id":1,"method":"a","params":[1e]}`, parse, "", false},
	{"number with a plus", `{"jsonrpc":"2.0","id":1,"method":"a","params":[+1]}`, parse, "", false},
	{"NaN", `{"jsonrpc":"2.0","id":1,"method":"a","params":[NaN]}`, parse, "", false},
	{"word cut short", `{"jsonrpc":"2.0","id":1,"method":"a","params":[tru]}`, parse, "", false},
	{"word too long", `{"jsonrpc":"2.0","id":1,"method":"a","params":[nulls]}`, parse, "", false},
	{"comment", `{"jsonrpc":"2.0","id":1,/**/"method":"a"}`, parse, "", false},
	{"unknown escape", `{"jsonrpc":"2.0","id":1,"method":"\x"}`, parse, "", false},
	{"short escape", `{"jsonrpc":"2.0","id":1,"method":"\u12"}`, parse, "", false},
}

func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestDecode_hostile(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			p, err := jsonrpc.Decode([]byte(c.in), jsonrpc.Limits{})
			if c.code == 0 {
				if err != nil {
					t.Fatalf("Decode = %v, want a packet", err)
				}
				if p.Message != nil && p.Message.ID.String() != c.id {
					t.Errorf("id = %s, want %s", p.Message.ID, c.id)
				}
				return
			}
			bad, ok := errors.AsType[*jsonrpc.Malformed](err)
			if !ok {
				t.Fatalf("Decode = %v, %v, want *Malformed", p, err)
			}
			if bad.Err.Code != c.code || bad.ID.String() != c.id || bad.Silent != c.silent {
				t.Errorf("Decode = code %d, id %q, silent %v (%s), want %d, %q, %v",
					bad.Err.Code, bad.ID, bad.Silent, bad.Err.Message, c.code, c.id, c.silent)
			}
		})
	}
}

func TestDecode_batchElements(t *testing.T) {
	in := `[1, [2], [{"x":1,"x":1}], {"jsonrpc":"2.0","id":1,"method":"a"}, {"jsonrpc":"2.0","id":2,"method":"a","method":"b"},
		{"jsonrpc":"2.0","id":3}, {"jsonrpc":"2.0","method":"n"}, {"jsonrpc":"2.0","id":4,"result":{}}, {"id":5,"result":{}}]`
	p, err := jsonrpc.Decode([]byte(in), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range p.Batch {
		switch {
		case e.Malformed != nil:
			got = append(got, fmt.Sprintf("%d id %s silent %v", e.Malformed.Err.Code, e.Malformed.ID, e.Malformed.Silent))
		case !e.Message.Batched:
			t.Errorf("message %s is not marked as batched", e.Message.ID)
		default:
			got = append(got, fmt.Sprintf("ok %s%s", e.Message.ID, e.Message.Method))
		}
	}
	want := []string{
		"-32600 id  silent false", "-32600 id  silent false", "-32600 id  silent false", "ok 1a", "-32600 id 2 silent false",
		"-32600 id 3 silent false", "ok n", "ok 4", "-32600 id 5 silent true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("batch = %q\nwant %q", got, want)
	}
}

// A packet at a limit is accepted, one beyond it is not.
func TestDecode_limits(t *testing.T) {
	const head = `{"jsonrpc":"2.0","id":1,"method":"a","params":`
	zeros := func(n int) string { return head + `[` + strings.Repeat("0,", n-1) + `0]}` }
	for _, c := range []struct {
		name   string
		limits jsonrpc.Limits
		at     int
		in     func(n int) string
	}{
		{"bytes", jsonrpc.Limits{}, 1 << 20, func(n int) string {
			return head + `["` + strings.Repeat("x", n-len(head)-len(`[""]}`)) + `"]}`
		}},
		{"few bytes", jsonrpc.Limits{Bytes: 60}, 60, func(n int) string {
			return head + `["` + strings.Repeat("x", n-len(head)-len(`[""]}`)) + `"]}`
		}},
		{"depth", jsonrpc.Limits{}, 64, func(n int) string { return head + nest(n-1) + `}` }},
		{"depth of objects", jsonrpc.Limits{}, 64, func(n int) string {
			return head + strings.Repeat(`{"a":`, n-2) + `{}` + strings.Repeat(`}`, n-2) + `}`
		}},
		{"little depth", jsonrpc.Limits{Depth: 3}, 3, func(n int) string { return head + nest(n-1) + `}` }},
		{"depth in a batch", jsonrpc.Limits{}, 64, func(n int) string { return `[` + head + nest(n-2) + `}]` }},
		// The message, its version, id, method and params, and the zeros.
		{"nodes", jsonrpc.Limits{}, 100_000, func(n int) string { return zeros(n - 5) }},
		{"few nodes", jsonrpc.Limits{Nodes: 10}, 10, func(n int) string { return zeros(n - 5) }},
		{"batch", jsonrpc.Limits{}, 100, func(n int) string { return `[` + strings.Repeat(`{},`, n-1) + `{}]` }},
		{"small batch", jsonrpc.Limits{Batch: 2}, 2, func(n int) string { return `[` + strings.Repeat(`{},`, n-1) + `{}]` }},
		{"number", jsonrpc.Limits{}, 1000, func(n int) string { return head + `[-1.` + strings.Repeat("1", n-6) + `e+1]}` }},
	} {
		for _, d := range []int{-1, 0, 1} {
			in := c.in(c.at + d)
			_, err := jsonrpc.Decode([]byte(in), c.limits)
			if got, want := err == nil, d <= 0; got != want {
				t.Errorf("%s %+d: Decode = %v, want accepted %v", c.name, d, err, want)
			}
		}
	}
}

func TestDecode_manyNames(t *testing.T) {
	object := func(names ...string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"a","params":{` + strings.Join(names, ":0,") + `:0}}`
	}
	for _, n := range []int{15, 16, 17, 18, 31, 32, 33, 1000} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf(`"n%d"`, i))
		}
		if _, err := jsonrpc.Decode([]byte(object(names...)), jsonrpc.Limits{}); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		for _, again := range []string{`"n0"`, fmt.Sprintf(`"n%d"`, n-1), `"\u006e7"`} {
			if _, err := jsonrpc.Decode([]byte(object(append(slices.Clone(names), again)...)), jsonrpc.Limits{}); err == nil {
				t.Errorf("%d names, then %s again: accepted", n, again)
			}
			if _, err := jsonrpc.Decode([]byte(object(append([]string{again}, names...)...)), jsonrpc.Limits{}); err == nil {
				t.Errorf("%s, then %d names: accepted", again, n)
			}
		}
		escaped := append(slices.Clone(names), `"\u006e"`, `"\u006e\u006e"`, `"\n"`, `"\\n"`)
		if _, err := jsonrpc.Decode([]byte(object(escaped...)), jsonrpc.Limits{}); err != nil {
			t.Errorf("%d names and some with escapes: %v", n, err)
		}
	}
}

// What Decode costs is bounded by the size of the text.
func TestDecode_cost(t *testing.T) {
	var names strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&names, `,"name-%06d":0`, i)
	}
	large := jsonrpc.Limits{Bytes: 4 << 20, Nodes: 4 << 20}
	const head = `{"jsonrpc":"2.0","id":1,"method":"a","params":`
	const room = 3 // on a busy machine
	for _, c := range []struct {
		name   string
		in     string
		limits jsonrpc.Limits
		took   time.Duration // on a quiet machine
		bytes  uint64
	}{
		{"zeros", head + `[` + strings.Repeat("0,", 500_000) + `0]}`, large, 20 * time.Millisecond, 4 << 20},
		{"zeros, usual limits", head + `[` + strings.Repeat("0,", 500_000) + `0]}`, jsonrpc.Limits{Bytes: 2 << 20}, 10 * time.Millisecond, 1 << 20},
		{"empty objects", head + `[` + strings.Repeat("{},", 330_000) + `0]}`, large, 10 * time.Millisecond, 4 << 20},
		{"brackets", strings.Repeat("[", 1_000_000), jsonrpc.Limits{}, 5 * time.Millisecond, 1 << 20},
		{"brackets in params", head + strings.Repeat("[", 1_000_000), jsonrpc.Limits{}, 5 * time.Millisecond, 1 << 20},
		{"braces in params", head + strings.Repeat(`{"":`, 250_000), jsonrpc.Limits{}, 5 * time.Millisecond, 1 << 20},
		{"50000 names", head + `{"a":0` + names.String() + `}}`, jsonrpc.Limits{}, 10 * time.Millisecond, 8 << 20},
		{"backslashes", head + `["` + strings.Repeat(`\\`, 500_000) + `"]}`, large, 10 * time.Millisecond, 1 << 20},
		{"quotes", head + `["` + strings.Repeat(`\"`, 500_000) + `"]}`, large, 10 * time.Millisecond, 1 << 20},
		{"a string", head + `["` + strings.Repeat(`x`, 1_000_000) + `"]}`, large, 5 * time.Millisecond, 1 << 20},
	} {
		data := []byte(c.in)
		took := time.Hour
		for begin := time.Now(); !raceEnabled && took > room*c.took && time.Since(begin) < 5*time.Second; {
			start := time.Now()
			_, _ = jsonrpc.Decode(data, c.limits)
			took = min(took, time.Since(start))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = jsonrpc.Decode(data, c.limits)
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%-20s %8d bytes: %v, %d bytes allocated", c.name, len(data), took, used)
		if took > room*c.took && !raceEnabled {
			t.Errorf("%s took %v, want at most %v", c.name, took, room*c.took)
		}
		if used > c.bytes {
			t.Errorf("%s allocated %d bytes, want at most %d", c.name, used, c.bytes)
		}
	}
}

func TestDecode_ordinaryMessageAllocatesLittle(t *testing.T) {
	msg := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`)
	n := testing.AllocsPerRun(100, func() { _, _ = jsonrpc.Decode(msg, jsonrpc.Limits{}) })
	if n > 6 && !raceEnabled {
		t.Errorf("Decode allocates %v times, want at most 6", n)
	}
}

// The scanner looks at a string eight bytes at a time. Whatever byte stands
// wherever, it must see what jsontext does.
func TestDecode_everyByteEverywhere(t *testing.T) {
	const head, tail = `{"jsonrpc":"2.0","id":1,"method":"a","params":["`, `"]}`
	for _, filler := range []string{"a", " ", "!", "#", "[", "]", "\x7f", "é"} {
		for pos := range 18 {
			for c := range 256 {
				text := []byte(strings.Repeat(filler, 18))
				text[pos] = byte(c)
				in := []byte(head + string(text) + tail)
				_, err := jsonrpc.Decode(slices.Clone(in), jsonrpc.Limits{})
				if got, want := err == nil, jsontext.Value(in).IsValid(); got != want {
					t.Fatalf("%q: accepted %v, jsontext says %v", text, got, want)
				}
			}
		}
	}
}

func TestDecode_batchCountsAsDepth(t *testing.T) {
	one := jsonrpc.Limits{Depth: 1}
	if _, err := jsonrpc.Decode([]byte(notice("n")), one); err != nil {
		t.Errorf("a flat message: %v", err)
	}
	if _, err := jsonrpc.Decode([]byte(batchOf(notice("n"))), one); err == nil {
		t.Error("a batch has depth 1")
	}
}
