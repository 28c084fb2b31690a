package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Patterns that would take much memory make a schema unusable; those that schemas have do not.
func TestPatternSize(t *testing.T) {
	many := func(n int, pattern string) string {
		var properties []string
		for i := range n {
			properties = append(properties, fmt.Sprintf(`"p%d":{"anyOf":[{"type":"string","pattern":%q}]}`, i, pattern))
		}
		return `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
	}
	for _, c := range []struct {
		schema string
		usable bool
	}{
		{many(500, `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$`), true},
		{many(20, `^[a-zA-Z0-9_-]{1,1000}$`), true},
		{many(10, `^\p{L}{1,20}$`), true},
		{many(1, strings.Repeat("x{1000}", 200)), false},
		{many(200, `(?:abc){1,1000}`), false},
		{many(200, `(?:(?:ab){1,30}c){1,30}`), false},
		{many(1, strings.Repeat(`\pL`, 200)), false},
		{`{"type":"object","patternProperties":{"` + strings.Repeat("x{1000}", 200) + `":{}}}`, false},
		{`{"type":"object","properties":{"pattern":{"type":"string"}}}`, true},
	} {
		if _, err := newChecker(json.RawMessage(c.schema)); (err == nil) != c.usable {
			t.Errorf("%.100s: %v", c.schema, err)
		}
	}
}

// A schema that is prepared when it is needed first checks as before.
func TestLateChecker(t *testing.T) {
	late, err := newLateChecker(json.RawMessage(`{"type":"object","required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := late.check(json.RawMessage(`{"a":1}`)); err != nil {
			t.Error(err)
		}
		if err := late.check(json.RawMessage(`{}`)); err == nil {
			t.Error("a missing member was accepted")
		}
	}
	s := NewServer(Implementation{Name: "s", Version: "1"}, nil)
	bad := json.RawMessage(`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}}`)
	handler := func(context.Context, *Call) (json.RawMessage, error) { return nil, nil }
	if err := s.Update(func(u *Update) error { return u.Add(KindTool, bad, handler) }); err == nil {
		t.Error("a schema that cannot be used was added")
	}
}
