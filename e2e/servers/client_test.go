package servers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// `bossman client` uses the reference server as a person would: started by npx, and
// found in another client's configuration.
func TestBossmanClient(t *testing.T) {
	programs, err := harness.Build(t.TempDir(), harness.Bossman)
	if err != nil {
		t.Fatal(err)
	}
	bossman := programs.Path(harness.Bossman)
	home, saved := t.TempDir(), t.TempDir()
	npx := []string{"--", "npx", "--offline", "-y", "@modelcontextprotocol/server-everything"}
	dir := harness.Dir("servers") // where npx finds the pinned package
	run := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), bossman, append([]string{"client"}, args...)...)
		cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
		cmd.Env = append([]string{"HOME=" + home}, command().Env...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("bossman client %q exits with %d, want %d\n%s%s", args, got, code, &out, &errs)
		}
		return out.String(), errs.String()
	}
	says := func(what, text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("%s says %q, want %q", what, text, want)
		}
	}
	with := func(args ...string) []string { return append(args, npx...) }

	out, _ := run(0, with("tools")...)
	says("tools", out, "get-sum")
	out, _ = run(0, with("call", "get-sum", "a=2", "b=3")...)
	says("get-sum", out, "5")
	out, _ = run(0, with("call", "get-tiny-image", "--out", saved)...)
	says("get-tiny-image", out, "get-tiny-image.png")
	if image, err := os.ReadFile(filepath.Join(saved, "get-tiny-image.png")); err != nil || !bytes.HasPrefix(image, []byte("\x89PNG")) {
		t.Errorf("the image is %.8q, %v", image, err)
	}
	out, errs := run(0, with("call", "trigger-long-running-operation", "duration=1", "steps=4")...)
	says("a long call", out, "completed")
	says("its progress", errs, "50 % 2 of 4")
	_, errs = run(5, with("call", "get-structured-content", "location=Atlantis")...)
	says("a wrong argument", errs, "reported an error")
	_, errs = run(2, with("call", "get-sum", "a=x", "b=3")...)
	says("a word for a number", errs, "invalid value of a: want a number")
	_, errs = run(3, with("call", "getsum")...)
	says("an unknown tool", errs, "get-sum")
	out, _ = run(0, with("read", "demo://resource/dynamic/text/1")...)
	says("a resource", out, "Resource 1")
	out, _ = run(0, with("prompt", "args-prompt", "city=Paris")...)
	says("a prompt", out, "Paris")

	config := `{"mcpServers":{"every":{"command":"mcp-server-everything","args":["stdio"]}}}`
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs = run(8, "call", "--from", "claude", "every", "echo", "message=hello")
	says("a program of the project", errs, "there is no such program")
	dir = home // it is a project's program no longer
	out, _ = run(0, "call", "--from", "claude", "every", "echo", "message=hello")
	says("echo", out, "Echo: hello")
}
