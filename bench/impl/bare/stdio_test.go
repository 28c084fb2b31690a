package bare

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestStdio_answersAlike(t *testing.T) {
	long := strings.Repeat("x", 300<<10) // more than a read buffer
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + long + `"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"text":""}}}
`
	texts := map[int]string{2: "hello", 3: long, 4: ""}
	for _, v := range []Variant{Bare, Bare2, Lean} {
		var out bytes.Buffer
		if err := Stdio(strings.NewReader(in), &out, v); err != nil {
			t.Fatalf("Stdio(%q) = %v", v, err)
		}
		answers := 0
		for line := range bytes.Lines(out.Bytes()) {
			var got struct {
				ID     int
				Result struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatalf("Stdio(%q) answers %.200q: %v", v, line, err)
			}
			answers++
			if want, ok := texts[got.ID]; ok && (len(got.Result.Content) != 1 || got.Result.Content[0].Text != want) {
				t.Errorf("Stdio(%q) answers %.200q, want text %.20q", v, line, want)
			}
		}
		if answers != 4 {
			t.Errorf("Stdio(%q) gives %d answers, want 4", v, answers)
		}
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c\nd\te\x00", "Zürich, 東京 🌙", "\u2028"} {
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil || got != s {
			t.Errorf("appendString(%q) reads back as %q, %v", s, got, err)
		}
	}
	if got, want := string(appendString(nil, "a\xffb")), `"a\ufffdb"`; got != want {
		t.Errorf("appendString = %s, want %s", got, want)
	}
}
