package mcpcli

import (
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/go-json-experiment/json/jsontext"
)

// What a tool says twice is printed once, with its numbers as they are.
func TestToldTwice(t *testing.T) {
	for _, tt := range []struct {
		structured string
		texts      []string
		want       int
	}{
		{`{"b":1,"a":[]}`, []string{`{"a": [], "b": 1}`}, inStructured},
		{`{"content":"a\nb"}`, []string{"a\nb"}, inText},
		{`{"result":[{"a":1,"b":2}]}`, []string{`[{"b":2, "a":1}]`}, inText},
		{`{"result":["a","b"]}`, []string{"a", "b"}, inText},
		{`{"result":5}`, []string{"5"}, inText},
		{`{"sum":5}`, []string{"The sum is 5"}, once},
		{`{"a":"x","b":"y"}`, []string{"x"}, once},
		{`{"a":[]}`, nil, once},
		{``, []string{"x"}, once},
	} {
		var content []mcp.Content
		for _, text := range tt.texts {
			content = append(content, mcp.Text(text))
		}
		if got := toldTwice(content, jsontext.Value(tt.structured)); got != tt.want {
			t.Errorf("toldTwice(%q, %s) = %d, want %d", tt.texts, tt.structured, got, tt.want)
		}
	}
	if got, want := indented(jsontext.Value(`{"z":9007199254740993,"a":1.10}`)), "{\n  \"z\": 9007199254740993,\n  \"a\": 1.10\n}"; got != want {
		t.Errorf("indented = %s, want %s", got, want)
	}
}
