package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
)

func TestDecodeHeader(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{" \tpadded ", "padded"},
		{"", ""},
		{"=?base64?SGVsbG8=?=", "Hello"},
		{"=?base64??=", ""},
		{"=?base64?=", "=?base64?="},                   // the two marks overlap
		{"=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="}, // not our mark
		{"=?base64?SGVsbG8?=", "!"},                    // no padding
		{"=?base64?SGVs!!!bG8=?=", "!"},
		{"=?base64?/w==?=", "!"}, // not UTF-8
	} {
		got, err := decodeHeader(c.in)
		if err != nil {
			got = "!"
		}
		if got != c.want {
			t.Errorf("decodeHeader(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add("=?base64?SGVsbG8=?=")
	f.Add("=?base64?=")
	f.Fuzz(func(t *testing.T, v string) {
		got, err := decodeHeader(v)
		if err == nil && !strings.Contains(v, base64Prefix) && got != strings.Trim(v, " \t") {
			t.Errorf("decodeHeader(%q) = %q", v, got)
		}
	})
}

func TestParamHeaders(t *testing.T) {
	headers, err := paramHeaders(json.RawMessage(`{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"n":{"type":"integer","x-mcp-header":"N"},
		"deep":{"type":"object","properties":{"flag":{"type":"boolean","x-mcp-header":"Flag"}}}}}`))
	if err != nil || len(headers) != 3 {
		t.Fatalf("paramHeaders = %v, %v, want 3", headers, err)
	}
	for _, c := range []struct {
		arguments string
		headers   string // name=value, separated by commas
		ok        bool
	}{
		{`{}`, "", true},
		{`{"region":null}`, "", true},
		{`{"region":""}`, "Region=", true},
		{`{"region":"eu"}`, "Region=eu", true},
		{`{"region":"é"}`, "Region==?base64?w6k=?=", true},
		{`{"region":"eu"}`, "", false},
		{`{"region":"eu"}`, "Region=us", false},
		{`{"region":"eu"}`, "Region=eu,Region=eu", false},
		{`{}`, "Region=eu", false},
		{`{"n":42}`, "N=42", true},
		{`{"n":42.0}`, "N=42", true},
		{`{"n":42}`, "N=43", false},
		{`{"n":42}`, "N=4.2e1", true},
		{`{"n":42}`, "N=+42", false},
		{`{"n":42}`, "N=0x2A", false},
		{`{"n":42}`, "N=0x1.5p5", false},
		{`{"n":9007199254740993}`, "N=9007199254740993", true},
		{`{"n":9007199254740993}`, "N=9007199254740992", false},
		{`{"deep":{"flag":true}}`, "Flag=true", true},
		{`{"deep":{"flag":true}}`, "Flag=True", false},
	} {
		h := http.Header{}
		for pair := range strings.SplitSeq(c.headers, ",") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				h.Add("Mcp-Param-"+name, value)
			}
		}
		var err error
		for i := range headers {
			if e := headers[i].check(h, json.RawMessage(c.arguments)); e != nil {
				err = e
			}
		}
		if (err == nil) != c.ok {
			t.Errorf("arguments %s with headers %q: %v, want ok %t", c.arguments, c.headers, err, c.ok)
		}
	}
	for _, bad := range []string{
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
	} {
		if _, err := paramHeaders(json.RawMessage(bad)); err == nil {
			t.Errorf("paramHeaders(%s): no error", bad)
		}
	}
}

func TestSession_packed(t *testing.T) {
	long := strings.Repeat("x", 63) + "é" + strings.Repeat("x", 100)
	r := newRequest(&jsonrpc.Message{Method: "initialize", Params: json.RawMessage(`{"protocolVersion":"2025-06-18",
		"capabilities":{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"url":{}},
			"extensions":{"io.example/ui":{"types":["a"]}}},
		"clientInfo":{"name":"` + long + `","version":"1.2"}}`)}, Principal{ID: "p"}, nil)
	x, err := newSession(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x.AppendBinary(nil)
	if err != nil || len(b) > 300 {
		t.Fatalf("AppendBinary: %d bytes, %v", len(b), err)
	}
	got, err := openSession(b, &memoryState{})
	if err != nil {
		t.Fatal(err)
	}
	c := got.client
	if got.revision != R20250618 || got.info.Name != long[:63] || got.info.Version != "1.2" ||
		string(c.Extensions["io.example/ui"]) != `{"types":["a"]}` || !c.Roots.ListChanged || c.Sampling.Tools == nil || c.Sampling.Context != nil || !c.HasURL() || c.HasForm() {
		t.Errorf("OpenSession = %+v", got)
	}
	for n := range b {
		if _, err := openSession(b[:n], nil); err == nil {
			t.Errorf("OpenSession of the first %d bytes: no error", n)
		}
	}
}

// A client with many extensions, or with much to say about them, still gets an id.
func TestSession_packedExtensions(t *testing.T) {
	x := &session{revision: newestLegacy}
	x.client.Extensions = map[string]json.RawMessage{
		"a.example/much":                        json.RawMessage(`{"settings":"` + strings.Repeat("x", 300) + `"}`),
		"z.example/" + strings.Repeat("x", 300): json.RawMessage(`{}`),
		"c.example/little":                      json.RawMessage(`{"n":1}`),
	}
	b, err := x.AppendBinary(nil)
	if err != nil || len(b) > 300 {
		t.Fatalf("AppendBinary: %d bytes, %v", len(b), err)
	}
	got, err := openSession(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := got.client.Extensions; len(e) != 2 || string(e["a.example/much"]) != `{}` || string(e["c.example/little"]) != `{}` {
		t.Errorf("extensions %s", e)
	}
}
