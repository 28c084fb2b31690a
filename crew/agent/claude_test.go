package agent

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestClaude_arguments: all arguments of a tool are shown. The description of a command of Claude Code's own shell is what it says about it;
// what another tool does with one is not known.
func TestClaude_arguments(t *testing.T) {
	for _, c := range []struct{ tool, input, use, words string }{
		{"Bash", `{"command":"make","description":"Builds","timeout":5}`, "make\n" + `{"timeout":5}`, "Builds"},
		{"Bash", `{"command":"make","description":["x"]}`, "make\n" + `{"description":["x"]}`, ""},
		{"mcp__tickets__do", `{"command":"create_issue","description":"a secret"}`, "create_issue\n" + `{"description":"a secret"}`, ""},
		{"mcp__db__delete", `{"id":1099511627776000001,"f":1.10,"in":{"n":12345678901234567890}}`, `{"f":1.10,"id":1099511627776000001,"in":{"n":12345678901234567890}}`, ""},
		{"mcp__db__odd", `[1e400]`, `[1e400]`, ""},
		{"mcp__tickets__Bash", `{"description":"a secret"}`, `{"description":"a secret"}`, ""},
	} {
		var e claudeEvent
		if err := json.Unmarshal([]byte(`{"request":{"tool_name":"`+c.tool+`","input":`+c.input+`}}`), &e); err != nil {
			t.Fatal(err)
		}
		if p := (&claudeSession{}).permission(e); p.Use != c.use || p.Words != c.words {
			t.Errorf("%s %s: %q, %q; want %q, %q", c.tool, c.input, p.Use, p.Words, c.use, c.words)
		}
	}
}

// TestClaude_handsBack: what was allowed is handed back as it was asked for, to the last digit.
func TestClaude_handsBack(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var e claudeEvent
	line := `{"request_id":"r1","request":{"tool_name":"t","input":{"id":1099511627776000001,"f":1.10,"n":[12345678901234567890]},"permission_suggestions":[{"type":"x","destination":"userSettings","n":12345678901234567890},5]}}`
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatal(err)
	}
	s := &claudeSession{stream: &stream{pipes: &pipes{in: out}}}
	s.permission(e).Answer(ForTask, "")
	out.Close()
	got, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"updatedInput":{"id":1099511627776000001,"f":1.10,"n":[12345678901234567890]}`, `"destination":"session"`, `"n":12345678901234567890`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("it was answered %s, without %s", got, want)
		}
	}
}
