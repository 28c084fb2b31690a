package console_test

import (
	"testing"

	"github.com/bossman-dev/bossman/internal/console"
)

// TestInAgentShell: a process that an agent's shell has put in its own place is still one of that
// shell; the variables that a client gives its MCP servers do not make it one.
func TestInAgentShell(t *testing.T) {
	if none := (&console.Console{Getenv: func(string) string { return "" }}); none.InAgentShell() {
		t.Skip("this test runs in an agent's shell")
	}
	for _, test := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"CLAUDECODE": "1", "AI_AGENT": "claude-code_2-1-197_agent"}, true},
		{map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1"}, true},
		{map[string]string{"CODEX_THREAD_ID": "x"}, true},
		{map[string]string{"CODEX_SANDBOX": "seatbelt"}, true},
		{map[string]string{"CLAUDECODE": "1", "AI_AGENT": "claude-code_2-1-197_harness", "CLAUDE_CODE_SESSION_ID": "x"}, false},
	} {
		c := &console.Console{Getenv: func(name string) string { return test.env[name] }}
		if got := c.InAgentShell(); got != test.want {
			t.Errorf("%v: in an agent's shell: %v, want %v", test.env, got, test.want)
		}
	}
}
