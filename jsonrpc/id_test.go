package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
)

func TestParseID(t *testing.T) {
	for _, text := range []string{`0`, `1`, `-1`, `9007199254740993`, `""`, `"1"`, `"é"`, `"\u0000"`, strings.Repeat("1", 64), `-` + strings.Repeat("1", 64)} {
		id, err := jsonrpc.ParseID([]byte(text))
		if err != nil || id.String() != text || id.IsZero() {
			t.Errorf("ParseID(%s) = %v, %v", text, id, err)
		}
	}
	for _, text := range []string{
		``, `null`, `true`, `1.0`, `1e2`, `-0`, `-`, `+1`, `01`, `-01`, ` 1`, `1 `, `[]`, `{}`, `"`, `"a`, `"a" `, "\"a\"\n", `"a""b"`, `"a`,
		"\"\xff\"", `"\ud800"`, strings.Repeat("1", 65), `"` + strings.Repeat("x", 255) + `"`, "\"\n\"",
	} {
		if id, err := jsonrpc.ParseID([]byte(text)); err == nil || !id.IsZero() {
			t.Errorf("ParseID(%q) = %v, %v, want an error", text, id, err)
		}
	}
}

func TestID_comparesByText(t *testing.T) {
	if jsonrpc.IntID(1) == jsonrpc.StringID("1") {
		t.Error(`1 and "1" are one id`)
	}
	if jsonrpc.IntID(-7).String() != "-7" || jsonrpc.StringID("a\"\n").String() != `"a\"\n"` {
		t.Error("ids are not written as JSON")
	}
	if got := jsonrpc.StringID("a\xff").String(); got != "\"a\ufffd\"" {
		t.Errorf("StringID of invalid UTF-8 = %s", got)
	}
}

func TestID_json(t *testing.T) {
	type box struct {
		A jsonrpc.ID `json:"a"`
		B jsonrpc.ID `json:"b"`
	}
	in := `{"a":12345678901234567890,"b":"x"}`
	var v box
	if err := json.Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil || string(out) != in {
		t.Errorf("Marshal = %s, %v, want %s", out, err, in)
	}
	if out, _ := json.Marshal(box{}); string(out) != `{"a":null,"b":null}` {
		t.Errorf("Marshal of no ids = %s", out)
	}
	if err := json.Unmarshal([]byte(`{"a":1.5}`), &v); err == nil {
		t.Error("1.5 is accepted as an id")
	}
}
