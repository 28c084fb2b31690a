package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// The five minutes of docs/gateway.md, literally: from a .mcp.json with two servers to one, which has their tools.
func TestGatewayPage(t *testing.T) {
	page, err := os.ReadFile(harness.Dir("..", "docs", "gateway.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(page), "## Five minutes")
	_, commands, _ = strings.Cut(commands, "```sh\n")
	commands, rest, ok := strings.Cut(commands, "```")
	if !ok || strings.Count(commands, "bossman ") != 4 || !strings.Contains(rest, "Now remove the servers from `.mcp.json`") {
		t.Fatalf("the page has other commands:\n%s", commands)
	}
	programs, err := harness.Build(t.TempDir(), harness.Bossman)
	if err != nil {
		t.Fatal(err)
	}
	home, repo, bin := t.TempDir(), filepath.Join(t.TempDir(), "web"), t.TempDir()
	if err := os.Link(programs.Path(harness.Bossman), filepath.Join(bin, "bossman")); err != nil {
		t.Fatal(err)
	}
	sh := func(script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir, cmd.WaitDelay = repo, 10*time.Second
		cmd.Env = append(command().Env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
		for i, v := range cmd.Env {
			if path, ok := strings.CutPrefix(v, "PATH="); ok {
				cmd.Env[i] = "PATH=" + bin + ":" + path
			}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	sh("git init -q -b main; mkdir -p ~/.config/bossman")
	servers := `{"mcpServers":{"everything":{"command":"mcp-server-everything","args":["stdio"]},"files":{"command":"mcp-server-filesystem","args":["` + repo + `"]}}}`
	if err := os.WriteFile(filepath.Join(repo, ".mcp.json"), []byte(servers), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	out := sh(commands)
	for _, want := range []string{"[upstream.everything]", "[upstream.files]", "everything__echo", "files__list_directory"} {
		if !strings.Contains(out, want) {
			t.Errorf("the commands do not say %s:\n%s", want, out)
		}
	}
	if err := os.Remove(filepath.Join(repo, ".mcp.json")); err != nil { // as the page says
		t.Fatal(err)
	}
	out = sh("bossman client call --from claude bossman call_tool name=everything__echo arguments:='{\"message\":\"hello\"}'; bossman client call --from claude bossman search_tools query='list the files of a directory'")
	for _, want := range []string{"Echo: hello", "files__list_directory"} {
		if !strings.Contains(out, want) {
			t.Errorf("the agent is not told %s:\n%s", want, out)
		}
	}
	t.Logf("it took %v", time.Since(began).Round(time.Millisecond))
}
