package boardtext

import (
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// TestResume: what an agent says about its session is no option of a command that people are told.
func TestResume(t *testing.T) {
	for _, tc := range []struct{ agent, session, dir, want string }{
		{"claude", "64531d7d-e09a-4894-b8f9-c65d670a3732", "/src/a b", "cd '/src/a b' && claude --resume 64531d7d-e09a-4894-b8f9-c65d670a3732"},
		{"codex", "01a1e419-b93a-7141-b2a5-425b093aee8e", "/src", "cd /src && codex resume 01a1e419-b93a-7141-b2a5-425b093aee8e"},
		{"codex", `-cnotify=["touch","/tmp/pwned"]`, "/src", ""},
		{"claude", "--mcp-config=/tmp/evil.json", "/src", ""},
		{"claude", "a\nb", "/src", ""},
		{"claude", "s", "-P", ""},
		{"claude", "", "/src", ""},
		{"claude", "s", "", ""},
		{"gemini", "s", "/src", ""},
	} {
		if got := resume(board.Run{Agent: tc.agent, Session: tc.session}, board.Where{Dir: tc.dir}); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}
