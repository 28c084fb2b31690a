package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// From an empty home, bossman install sets up four agents: each of them says that it is connected, or calls
// a tool. Uninstalling removes what was added, also from files that the agents have rewritten.
func (b *bench) install(t *testing.T) {
	home := harness.Home(t)
	dir := filepath.Join(home, "web")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	bossman := func(args ...string) string {
		t.Helper()
		cmd := harness.Command(t.Context(), home, append([]string{b.programs.Path(harness.Bossman)}, args...)...)
		cmd.Dir = dir
		out := harness.Run(t, cmd)
		if out.Code != 0 {
			t.Fatalf("bossman %s: exit code %d\n%s", strings.Join(args, " "), out.Code, out.Stderr)
		}
		return out.Stdout
	}
	list := func(env []string, argv ...string) harness.Output {
		t.Helper()
		cmd := harness.Command(t.Context(), home, argv...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, env...)
		return harness.Run(t, cmd)
	}
	if out := list(nil, "git", "init", "-q"); out.Code != 0 {
		t.Fatalf("git init: exit code %d", out.Code)
	}
	bossman("task", "add", "Fix the parser bug")
	clients := []string{"claude", "codex", "gemini", "opencode"}
	bossman(append([]string{"install"}, clients...)...)

	connected(t, list(nil, b.agents.Bin("claude"), "mcp", "list"), "bossman: ", "✔ Connected")
	connected(t, list([]string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, b.agents.Bin("gemini"), "mcp", "list"), "✓ bossman", "Connected")
	connected(t, list(nil, b.agents.Bin("opencode"), "mcp", "list"), "✓ bossman", "connected")
	var result struct {
		Content []struct{ Text string }
	}
	b.codexThread(t, home, dir, "get_next_task")("get_next_task", map[string]any{}, &result)
	if len(result.Content) == 0 || !strings.Contains(result.Content[0].Text, "web-1") {
		t.Errorf("get_next_task = %+v, want web-1", result)
	}

	if out := bossman(append([]string{"install"}, clients...)...); strings.Contains(out, "added") {
		t.Errorf("a second time:\n%s", out)
	}
	bossman(append([]string{"install", "--uninstall"}, clients...)...)
	for _, file := range []string{".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", ".config/opencode/opencode.json"} {
		if text, err := os.ReadFile(filepath.Join(home, file)); err == nil && strings.Contains(string(text), "bossman") {
			t.Errorf("%s still has\n%s", file, text)
		}
	}
	if out := list(nil, b.agents.Bin("claude"), "mcp", "list"); strings.Contains(out.Stdout, "bossman:") {
		t.Errorf("claude mcp list after uninstalling:\n%s", out.Stdout)
	}
}
