package mcpcli

import (
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/go-json-experiment/json/jsontext"
)

// A result that says the same twice is printed once, with its numbers as they are.
func TestRepeats(t *testing.T) {
	for _, tt := range []struct {
		structured string
		texts      []string
		want       int
	}{
		{`{"b":1,"a":[]}`, []string{`{"a": [], "b": 1}`}, structuredOnly},
		{`{"content":"a\nb"}`, []string{"a\nb"}, textOnly},
		{`{"result":[{"a":1,"b":2}]}`, []string{`[{"b":2, "a":1}]`}, textOnly},
		{`{"result":["a","b"]}`, []string{"a", "b"}, textOnly},
		{`{"result":5}`, []string{"5"}, textOnly},
		{`{"sum":5}`, []string{"The sum is 5"}, printBoth},
		{`{"a":"x","b":"y"}`, []string{"x"}, printBoth},
		{`{"a":[]}`, nil, printBoth},
		{``, []string{"x"}, printBoth},
	} {
		var content []mcp.Content
		for _, text := range tt.texts {
			content = append(content, mcp.Text(text))
		}
		if got := repeats(content, jsontext.Value(tt.structured)); got != tt.want {
			t.Errorf("repeats(%q, %s) = %d, want %d", tt.texts, tt.structured, got, tt.want)
		}
	}
	if got, want := indented(jsontext.Value(`{"z":9007199254740993,"a":1.10}`)), "{\n  \"z\": 9007199254740993,\n  \"a\": 1.10\n}"; got != want {
		t.Errorf("indented = %s, want %s", got, want)
	}
}
