package mcp

import (
	"encoding/json"
	"reflect"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// allContent has a block of each type, bare and with everything set.
func allContent() []Content {
	notes := &Annotations{Audience: []string{"user"}, Priority: new(0.0), LastModified: "2026-07-28T00:00:00Z"}
	meta := Meta{"b": "2", "a": "1\n"}
	icons := []Icon{{Src: "https://example.com/i.png", MIMEType: "image/png", Sizes: []string{"48x48"}, Theme: "dark"}}
	file := Resource{URI: "file:///a", Name: "a", Title: "A", Description: "an a", MIMEType: "text/plain", Size: new(int64(0)), Icons: icons, Annotations: notes, Meta: meta}
	image := Image([]byte{0, 1, 2}, "image/png")
	image.Annotations, image.Meta = notes, meta
	text := Text("a \"quoted\"\nline")
	text.Annotations, text.Meta = notes, meta
	return []Content{
		Text(""), text,
		Image([]byte{}, ""), image,
		Audio([]byte("RIFF"), "audio/wav"),
		Embed(ResourceContents{URI: "file:///a"}),
		Embed(ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "hello", Meta: meta}),
		Embed(ResourceContents{URI: "file:///a", Blob: []byte{}}),
		Embed(ResourceContents{URI: "file:///a", Blob: []byte{0xff}}),
		Link(Resource{URI: "file:///a", Name: "a"}), Link(file),
	}
}

func sampleContent() []Content {
	return []Content{
		{Type: "tool_use", ID: "1", Name: "add", Input: json.RawMessage(`{"a":1}`), Meta: Meta{"k": "v"}},
		{Type: "tool_result", ToolUseID: "1", Content: []Content{Text("2")}, StructuredContent: json.RawMessage(`{"sum":2}`), IsError: true},
		{Type: "tool_result", ToolUseID: "1", Content: []Content{}},
	}
}

func TestContent_roundTrip(t *testing.T) {
	for _, c := range append(allContent(), sampleContent()...) {
		b, err := c.append([]byte("x"))
		if err != nil {
			t.Fatalf("append(%+v): %v", c, err)
		}
		b = b[1:]
		if !jsontext.Value(b).IsValid() {
			t.Fatalf("append(%+v) = %s, not valid", c, b)
		}
		var back Content
		if err := jsonv2.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%s reads as %+v, %v, want %+v", b, back, err, c)
		}
		m, err := jsonv2.Marshal([]Content{c})
		if err != nil || string(m) != "["+string(b)+"]" {
			t.Errorf("Marshal = %s, %v, want [%s]", m, err, b)
		}
	}
}

func TestContent_append(t *testing.T) {
	tests := []struct {
		c    Content
		want string
	}{
		{Text(""), `{"type":"text","text":""}`},
		{Content{Type: "image"}, `{"type":"image","data":"","mimeType":""}`},
		{Content{Type: "resource_link"}, `{"type":"resource_link","uri":"","name":""}`},
		{Content{Type: "tool_use"}, `{"type":"tool_use","id":"","name":"","input":{}}`},
		{Content{Type: "tool_result"}, `{"type":"tool_result","toolUseId":"","content":[]}`},
		{Embed(ResourceContents{}), `{"type":"resource","resource":{"uri":"","text":""}}`},
		{Embed(ResourceContents{Blob: []byte{}}), `{"type":"resource","resource":{"uri":"","blob":""}}`},
		{Content{Type: "text", Text: "a", URI: "ignored", Meta: Meta{"b": 1, "a": nil}}, `{"type":"text","text":"a","_meta":{"a":null,"b":1}}`},
		{Content{Type: "text", Text: "a\xff", Meta: Meta{"a": "\xff"}}, `{"type":"text","text":"a` + "\ufffd" + `","_meta":{"a":"` + "\ufffd" + `"}}`},
	}
	for _, tt := range tests {
		if got, err := tt.c.append(nil); err != nil || string(got) != tt.want {
			t.Errorf("append(%+v) = %s, %v, want %s", tt.c, got, err, tt.want)
		}
	}
	for _, c := range []Content{
		{},
		{Type: "video"},
		{Type: "resource"},
		{Type: "tool_use", Input: json.RawMessage(`{`)},
		{Type: "tool_result", Content: []Content{{}}},
		{Type: "text", Meta: Meta{"f": func() {}}},
	} {
		if got, err := c.append(nil); err == nil {
			t.Errorf("append(%+v) = %s, want an error", c, got)
		}
	}
}

func TestContent_readsUnknown(t *testing.T) {
	var c Content
	if err := jsonv2.Unmarshal([]byte(`{"type":"video","frames":[1],"text":"t"}`), &c); err != nil || c.Type != "video" {
		t.Errorf("Unmarshal = %+v, %v, want type video", c, err)
	}
}

func TestBlocks(t *testing.T) {
	tests := []struct {
		blocks Blocks
		want   string
	}{
		{Blocks{}, `[]`},
		{Blocks{Text("a")}, `{"type":"text","text":"a"}`},
		{Blocks{Text("a"), Text("b")}, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
	}
	for _, tt := range tests {
		got, err := jsonv2.Marshal(tt.blocks)
		if err != nil || string(got) != tt.want {
			t.Errorf("Marshal(%+v) = %s, %v, want %s", tt.blocks, got, err, tt.want)
		}
		var back Blocks
		if err := jsonv2.Unmarshal([]byte(tt.want), &back); err != nil || !reflect.DeepEqual(back, tt.blocks) {
			t.Errorf("Unmarshal(%s) = %+v, %v, want %+v", tt.want, back, err, tt.blocks)
		}
	}
	var one Blocks
	if err := jsonv2.Unmarshal([]byte(` [ {"type":"text","text":"a"} ] `), &one); err != nil || len(one) != 1 {
		t.Errorf("Unmarshal of an array of one = %+v, %v", one, err)
	}
	if err := jsonv2.Unmarshal([]byte(`"text"`), &one); err == nil {
		t.Error("Unmarshal of a string: want an error")
	}
}

func BenchmarkToolResult(b *testing.B) {
	r := &ToolResult{Content: []Content{Text("The sum is 3, and nothing needs escaping.")}, StructuredContent: json.RawMessage(`{"sum":3}`)}
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = r.append(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
