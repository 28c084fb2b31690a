package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestHashDefinition(t *testing.T) {
	base := `{"name":"a","description":"x\u00e9","inputSchema":{"type":"object","maximum":10},"_meta":{"v":1,"w":2}}`
	hash := func(s string, volatile ...string) string {
		t.Helper()
		h, err := hashDefinition(json.RawMessage(s), volatile)
		if err != nil || len(h) != 64 {
			t.Fatalf("hashDefinition(%s) = %q, %v", s, h, err)
		}
		return h
	}
	want := hash(base)
	for _, same := range []string{
		`{"description":"xé", "name" : "a", "_meta":{"w":2,"v":1},"inputSchema":{"maximum":10,"type":"object"}}`,
	} {
		if hash(same) != want {
			t.Errorf("%s has another hash", same)
		}
	}
	for _, other := range []string{
		strings.Replace(base, "10", "10.0", 1), strings.Replace(base, "10", "1e1", 1), strings.Replace(base, `"v":1`, `"v":2`, 1),
		strings.Replace(base, `"name":"a"`, `"name":"a","execution":{}`, 1),
	} {
		if hash(other) == want {
			t.Errorf("%s has the same hash", other)
		}
	}
	if hash(base, "v") != hash(strings.Replace(base, `"v":1`, `"v":7`, 1), "v") || hash(base, "v", "w") != hash(strings.Replace(base, `,"_meta":{"v":1,"w":2}`, ``, 1), "v") {
		t.Error("a volatile member counts")
	}
	if _, err := hashDefinition(json.RawMessage(`{"a":1,"a":2}`), nil); err == nil {
		t.Error("a duplicate name was accepted")
	}
}

func TestSuspicious(t *testing.T) {
	for _, c := range []struct {
		text string
		bad  bool
	}{
		{"Reads a file.\n\tThen more: ä, 日本語のファイル, 한국어, ñ, €, ½", false},
		{"zero\u200bwidth", true},
		{"right\u202eto left", true},
		{"tag \U000E0041", true},
		{"selector \ufe0f", true},
		{"cr\r", true},
		{"nul\x00", true},
		{"private \ue000", true},
		{"unassigned \u0378", true},
		{"blank \u3164", true},
		{"braille \u2800", true},
		{"selectors \u180b", true},
		{"selectors \u180f", true},
		{"vowels \u17b4", true},
		{"vowels \u17b5", true},
		{"a heart \u2764\ufe0f", true},
		{"del \x7f", true},
		{"p\u0430ypal", true}, // Cyrillic а
		{"м\u0438р and world", false},
	} {
		quoted, _ := jsontext.AppendQuote(nil, c.text)
		for _, definition := range []string{`{"name":"a","description":` + string(quoted) + `}`, `{"name":"a","inputSchema":{"properties":{` + string(quoted) + `:{}}}}`} {
			if got := suspicious(json.RawMessage(definition)); (got != "") != c.bad {
				t.Errorf("suspicious(%+q) = %q", definition, got)
			}
		}
	}
	if got, want := spellOut("a\u200bb\n"), "a\\u{200B}b\n"; got != want {
		t.Errorf("spellOut = %q, want %q", got, want)
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":1.50,"a":["\u00e9",1e400,{"z":null,"y":true}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		one, err := canonical(text)
		if err != nil {
			return
		}
		two, err := canonical(one)
		if err != nil || string(two) != string(one) {
			t.Errorf("canonical(%s) = %s, %v", one, two, err)
		}
		suspicious(one)
	})
}
