package mcp

import (
	"encoding/json"
	"reflect"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

func TestToolResult_append(t *testing.T) {
	tests := []struct {
		r    ToolResult
		want string
	}{
		{ToolResult{}, `{"content":[]}`},
		{ToolResult{IsError: true, Content: []Content{Text("no")}}, `{"content":[{"type":"text","text":"no"}],"isError":true}`},
		{ToolResult{StructuredContent: json.RawMessage("null")}, `{"content":[],"structuredContent":null}`},
		{ToolResult{StructuredContent: json.RawMessage(`[1]`), Meta: Meta{"k": "v"}}, `{"content":[],"structuredContent":[1],"_meta":{"k":"v"}}`},
	}
	for _, tt := range tests {
		got, err := tt.r.append(nil)
		if err != nil || string(got) != tt.want {
			t.Errorf("append(%+v) = %s, %v, want %s", tt.r, got, err, tt.want)
		}
		if m, err := jsonv2.Marshal(tt.r); err != nil || string(m) != tt.want {
			t.Errorf("Marshal(%+v) = %s, %v, want %s", tt.r, m, err, tt.want)
		}
		back := ToolResult{}
		if tt.r.Content == nil {
			tt.r.Content = []Content{}
		}
		if err := jsonv2.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, tt.r) {
			t.Errorf("%s reads as %+v, %v, want %+v", got, back, err, tt.r)
		}
	}
	if got, err := (&ToolResult{StructuredContent: json.RawMessage("{")}).append(nil); err == nil {
		t.Errorf("append with bad JSON = %s, want an error", got)
	}
}

func TestToolError(t *testing.T) {
	var err error = &ToolError{Text: "no such file"}
	if err.Error() != "no such file" {
		t.Errorf("Error() = %q", err.Error())
	}
}
