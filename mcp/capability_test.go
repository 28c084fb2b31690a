package mcp

import (
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

func TestClientCapabilities_elicitation(t *testing.T) {
	tests := []struct {
		in        string
		form, url bool
	}{
		{`{}`, false, false},
		{`{"elicitation":null}`, false, false},
		{`{"elicitation":{}}`, true, false},
		{`{"elicitation":{"other":{}}}`, true, false},
		{`{"elicitation":{"form":{"x":1}}}`, true, false},
		{`{"elicitation":{"url":{}}}`, false, true},
		{`{"elicitation":{"form":{},"url":{}},"tasks":{"list":{}}}`, true, true},
	}
	for _, tt := range tests {
		var c ClientCapabilities
		if err := jsonv2.Unmarshal([]byte(tt.in), &c); err != nil {
			t.Errorf("Unmarshal(%s): %v", tt.in, err)
		}
		if c.HasForm() != tt.form || c.HasURL() != tt.url {
			t.Errorf("%s: form %v, url %v, want %v, %v", tt.in, c.HasForm(), c.HasURL(), tt.form, tt.url)
		}
	}
	var c ClientCapabilities
	if err := jsonv2.Unmarshal([]byte(`{"roots":{},"roots":{}}`), &c); err == nil {
		t.Error("a member twice: want an error")
	}
}
