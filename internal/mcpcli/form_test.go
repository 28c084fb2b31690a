package mcpcli

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Values are read as the schema wants them, and stay text where text is allowed.
func TestArguments(t *testing.T) {
	f := readForm([]byte(`{"properties":{
		"s":{"type":"string"}, "n":{"type":"number"}, "i":{"type":"integer"}, "b":{"type":"boolean"}, "o":{"type":"object"},
		"l":{"type":"array","items":{"type":"integer"}}, "t":{"type":"array","items":{"type":"string"}}, "sn":{"type":["string","number"]},
		"u":{"anyOf":[{"type":"integer"},{"type":"null"}]}, "e":{"enum":[1,2]}, "r":{"$ref":"#/$defs/a~1b"}, "a":{"allOf":[{"$ref":"#/$defs/o"}],"description":"x"},
		"ru":{"anyOf":[{"$ref":"#/$defs/a~1b"},{"type":"null"}]}, "loop":{"$ref":"#/$defs/loop"}, "none":{"$ref":"#/$defs/none"}},
		"$defs":{"a/b":{"type":"integer"}, "o":{"type":"object"}, "loop":{"anyOf":[{"$ref":"#/$defs/loop"},{"$ref":"#/$defs/loop"}]}}}`))
	for _, tt := range []struct{ words, want string }{
		{"s=2", `{"s":"2"}`},
		{"s=", `{"s":""}`},
		{"s=a=b", `{"s":"a=b"}`},
		{"n=2.5", `{"n":2.5}`},
		{"n=1e3", `{"n":1e3}`},
		{"n=x", "!invalid value of n: want a number"},
		{"n=", "!invalid value of n: want a number"},
		{"n=NaN", "!invalid value of n: want a number"},
		{"i=2.0", `{"i":2.0}`},
		{"i=2.5", "!invalid value of i: want an integer"},
		{"b=true", `{"b":true}`},
		{"b=yes", "!invalid value of b: want a boolean"},
		{`o={"a":1}`, `{"o":{"a":1}}`},
		{"o=[1]", "!invalid value of o: want an object"},
		{"l=[1,2]", `{"l":[1,2]}`},
		{"l=1 l=2", `{"l":[1,2]}`},
		{"l=x", "!invalid value of l: want an integer list"},
		{"t=a t=b", `{"t":["a","b"]}`},
		{"sn=2", `{"sn":"2"}`},
		{"u=2", `{"u":2}`},
		{"u=null", `{"u":null}`},
		{"e=2", `{"e":2}`},
		{"r=2", `{"r":2}`},
		{"r=x", "!invalid value of r: want an integer"},
		{"ru=2", `{"ru":2}`},
		{`a={"x":1}`, `{"a":{"x":1}}`},
		{"loop=2", `{"loop":"2"}`},
		{"none=2", `{"none":"2"}`},
		{"new=2", `{"new":"2"}`},
		{`new:={"a":[1]}`, `{"new":{"a":[1]}}`},
		{"s:=2", `{"s":2}`},
		{"s:=x", "!want JSON"},
		{"s=1 s=2", "!duplicate argument s"},
		{"s", "!invalid argument"},
		{"=x", "!invalid argument"},
	} {
		got := map[string]jsontext.Value{}
		err := f.arguments(got, strings.Fields(tt.words))
		if want, bad := strings.CutPrefix(tt.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), want) || console.CodeOf(err) != console.Usage {
				t.Errorf("%s: %v, want %s", tt.words, err, want)
			}
			continue
		}
		text, _ := json.Marshal(got)
		if err != nil || string(text) != tt.want {
			t.Errorf("%s = %s, %v; want %s", tt.words, text, err, tt.want)
		}
	}
}

// Schemas that are wrong, or none at all, do no harm.
func FuzzForm(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":["string"],"enum":["x"],"enumNames":["X"]},"b":{"items":{"anyOf":[{"const":"y","title":"Y"}]}}},"required":["a"]}`, "a=1")
	f.Add(`{"properties":[]}`, "a:=1")
	f.Add(`{"properties":{"a":{"anyOf":[{"anyOf":[{}]}],"default":[1]}}}`, "a=")
	f.Add(`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/properties/a"}]}}}`, "a=1")
	f.Fuzz(func(t *testing.T, schema, word string) {
		form := readForm([]byte(schema))
		args := map[string]jsontext.Value{}
		if form.arguments(args, []string{word}) == nil {
			_ = form.check(args)
			if _, err := json.Marshal(args); err != nil && strings.ToValidUTF8(word, "") == word {
				t.Errorf("%s: %v", word, err)
			}
		}
		for _, p := range form.Fields {
			if text := p.prompt(); console.OneLine(text) != strings.TrimSpace(text) {
				t.Errorf("prompt %q", text)
			}
			_, _ = p.answer(word)
		}
	})
}
