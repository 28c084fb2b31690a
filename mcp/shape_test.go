package mcp

import (
	"encoding/json"
	"reflect"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

var richForm = json.RawMessage(`{"type":"object","properties":{` +
	`"zeta":{"type":"string","title":"Z","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}],"default":"b"},` +
	`"many":{"type":"array","title":"M","description":"Pick.","minItems":1,"items":{"type":"string","enum":["x","y"]},"default":["x","y"]},` +
	`"most":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}},` +
	`"age":{"type":"integer","default":3},` +
	`"old":{"type":"string","enum":["p"],"enumNames":["P"]}` +
	`},"required":["zeta"]}`)

func TestShapeContent(t *testing.T) {
	blocks := allContent()
	untouched := allContent()
	for _, r := range Revisions() {
		got := shapeContent(blocks, r)
		if same := &got[0] == &blocks[0]; same != (r >= R20250618) {
			t.Errorf("%v: same slice %v", r, same)
		}
		for i, c := range got {
			want := blocks[i]
			switch {
			case want.Type == "audio" && r < R20250326:
				want = Text("[audio/wav, 4 bytes: not supported by this client]")
			case want.Type == "resource_link" && r < R20250618:
				want = Content{Type: "text", Text: "a (file:///a)", Annotations: want.Annotations, Meta: want.Meta}
			}
			if !reflect.DeepEqual(c, want) {
				t.Errorf("%v: block %d = %+v, want %+v", r, i, c, want)
			}
		}
	}
	if !reflect.DeepEqual(blocks, untouched) {
		t.Error("shapeContent changed what it was given")
	}
	if got := shapeContent(nil, R20241105); got != nil {
		t.Errorf("shapeContent(nil) = %v", got)
	}
}

func TestShapeToolResult(t *testing.T) {
	tests := []struct {
		structured string
		first      Revision // that is shown it
	}{
		{`{"a":1}`, R20250618},
		{` {"a":1}`, R20250618},
		{`[1]`, R20260728},
		{`null`, R20260728},
	}
	for _, tt := range tests {
		for _, r := range Revisions() {
			in := &ToolResult{Content: []Content{Text("t")}, StructuredContent: json.RawMessage(tt.structured), IsError: true}
			got := shapeToolResult(in, r)
			if shown := got.StructuredContent != nil; shown != (r >= tt.first) {
				t.Errorf("%v: %s shown = %v", r, tt.structured, shown)
			}
			if (got == in) != (r >= tt.first) || in.StructuredContent == nil || !got.IsError || len(got.Content) != 1 {
				t.Errorf("%v: shapeToolResult(%+v) = %+v", r, in, got)
			}
		}
	}
	empty := &ToolResult{}
	if got := shapeToolResult(empty, R20241105); got != empty {
		t.Errorf("shapeToolResult of an empty result = %+v, want itself", got)
	}
}

func TestShapeTool(t *testing.T) {
	tests := []struct{ in, out, wantIn, wantOut string }{
		{`{"type":"object"}`, `{"type":"object"}`, `{"type":"object"}`, `{"type":"object"}`},
		{`{"type":"object"}`, ``, `{"type":"object"}`, ``},
		{`{"type":"object"}`, `{"type":"array"}`, `{"type":"object"}`, ``},
		{`{"type":"object"}`, `{"anyOf":[]}`, `{"type":"object"}`, ``},
		{`{"type":"object"}`, `{"type":["object","null"]}`, `{"type":"object"}`, ``},
		{
			`{"properties":{"z":true,"a":{"type":"string"},"n":false},"type":"object"}`, `{"type":"object","properties":{"v":true}}`,
			`{"properties":{"z":{},"a":{"type":"string"},"n":{"not":{}}},"type":"object"}`, `{"type":"object","properties":{"v":{}}}`,
		},
	}
	for _, tt := range tests {
		tool := &Tool{Name: "t", InputSchema: json.RawMessage(tt.in)}
		if tt.out != "" {
			tool.OutputSchema = json.RawMessage(tt.out)
		}
		if got := shapeTool(tool, LatestRevision); got != tool {
			t.Errorf("shapeTool(%s, %s) for the newest = %+v, want itself", tt.in, tt.out, got)
		}
		got := shapeTool(tool, newestLegacy)
		if string(got.InputSchema) != tt.wantIn || string(got.OutputSchema) != tt.wantOut {
			t.Errorf("shapeTool(%s, %s) = %s, %s, want %s, %s", tt.in, tt.out, got.InputSchema, got.OutputSchema, tt.wantIn, tt.wantOut)
		}
		if changed := tt.in != tt.wantIn || tt.out != tt.wantOut; (got != tool) != changed || string(tool.InputSchema) != tt.in {
			t.Errorf("shapeTool(%s, %s): copied %v, want %v", tt.in, tt.out, got != tool, changed)
		}
	}
}

func TestShapeSample(t *testing.T) {
	p := &SampleParams{Messages: []SampleMessage{{Role: "user", Content: Blocks{Text("a"), Audio([]byte("b"), "audio/wav")}}}}
	got := shapeSample(p, R20241105)
	want := []SampleMessage{
		{Role: "user", Content: Blocks{Text("a")}},
		{Role: "user", Content: Blocks{Text("[audio/wav, 1 bytes: not supported by this client]")}},
	}
	if !reflect.DeepEqual(got.Messages, want) {
		t.Errorf("shapeSample = %+v, want %+v", got.Messages, want)
	}
	if got := shapeSample(p, R20251125); !reflect.DeepEqual(got, p) {
		t.Errorf("shapeSample = %+v, want %+v", got, p)
	}
	if len(p.Messages) != 1 || len(p.Messages[0].Content) != 2 {
		t.Error("shapeSample changed what it was given")
	}
}

func TestShapeElicit(t *testing.T) {
	p := &ElicitParams{Message: "m", RequestedSchema: richForm}
	for _, r := range []Revision{R20251125, R20260728} {
		if got := shapeElicit(p, r); got != p {
			t.Errorf("%v: shapeElicit = %+v, want itself", r, got)
		}
	}
	const want = `{"type":"object","properties":{` +
		`"zeta":{"type":"string","title":"Z","default":"b","enum":["a","b"],"enumNames":["A","B"]},` +
		`"many":{"title":"M","default":"x, y","description":"Pick. Any of these, comma separated: x, y","type":"string"},` +
		`"most":{"description":"Any of these, comma separated: x (X)","type":"string"},` +
		`"age":{"type":"integer","default":3},` +
		`"old":{"type":"string","enum":["p"],"enumNames":["P"]}` +
		`},"required":["zeta"]}`
	if got := shapeElicit(p, R20250618); string(got.RequestedSchema) != want {
		t.Errorf("shapeElicit = %s, want %s", got.RequestedSchema, want)
	}
	url := &ElicitParams{Mode: "url", Message: "m", URL: "https://example.com", ElicitationID: "1"}
	if got := shapeElicit(url, R20251125); got != url {
		t.Errorf("shapeElicit = %+v, want itself", got)
	}
	if got := shapeElicit(url, R20260728); got.ElicitationID != "" || url.ElicitationID == "" {
		t.Errorf("shapeElicit = %+v, want no id", got)
	}
	for _, bad := range []string{``, `[]`, `{"properties":1}`, `{"properties":{"a":1}}`, `{"properties":{"a":{"type":"string","oneOf":1}}}`, `{`} {
		in := &ElicitParams{RequestedSchema: json.RawMessage(bad)}
		if got := shapeElicit(in, R20250618); got != in {
			t.Errorf("shapeElicit(%s) = %s, want itself", bad, got.RequestedSchema)
		}
	}
}

func TestRestoreElicit(t *testing.T) {
	p := &ElicitParams{RequestedSchema: richForm}
	tests := []struct{ in, want string }{
		{`{"zeta":"a, b","many":"x,y , ","age":4}`, `{"zeta":"a, b","many":["x","y"],"age":4}`},
		{`{"many":""}`, `{"many":[]}`},
		{`{"many":["x"]}`, `{"many":["x"]}`},
		{`{"many":7}`, `{"many":7}`},
		{`[]`, `[]`},
	}
	for _, tt := range tests {
		if got := restoreElicit(p, json.RawMessage(tt.in), R20250618); string(got) != tt.want {
			t.Errorf("restoreElicit(%s) = %s, want %s", tt.in, got, tt.want)
		}
		if got := restoreElicit(p, json.RawMessage(tt.in), R20251125); string(got) != tt.in {
			t.Errorf("restoreElicit(%s) = %s, want itself", tt.in, got)
		}
	}
}

func TestShapePrompt(t *testing.T) {
	p := &PromptResult{Messages: []PromptMessage{{Role: "user", Content: Text("a")}, {Role: "user", Content: Audio(nil, "audio/wav")}}}
	if got := shapePrompt(p, R20250326); got != p {
		t.Errorf("shapePrompt = %+v, want itself", got)
	}
	got := shapePrompt(p, R20241105)
	if got == p || got.Messages[1].Content.Type != "text" || p.Messages[1].Content.Type != "audio" {
		b, _ := jsonv2.Marshal(got)
		t.Errorf("shapePrompt = %s", b)
	}
}
