// Package agents runs coding agents, as people install them, against
// examples/add, over HTTP against internal/conformance/server, and on a board of
// bossman's own, and writes docs/interop.md from what was seen.
//
// They are large, so this runs only with BOSSMAN_E2E_AGENTS=1. None needs an
// account, a model or the internet beyond the npm registry.
package agents

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// patience bounds each start of an agent.
const patience = 4 * time.Minute

// A bench is what every agent's test works with.
type bench struct {
	programs *harness.Programs
	agents   harness.Packages
	clients  harness.Packages
	report   *report
}

func TestAgents(t *testing.T) {
	if os.Getenv("BOSSMAN_E2E_AGENTS") == "" {
		t.Skip("set BOSSMAN_E2E_AGENTS=1; downloads more than a gigabyte")
	}
	b := &bench{report: &report{}}
	var err error
	if b.programs, err = harness.Build(t.TempDir(), harness.AddServer, harness.FeaturesServer, harness.Bossman); err != nil {
		t.Fatal(err)
	}
	if b.clients, err = harness.Install(t.Context(), harness.Dir("clients")); err != nil {
		t.Fatal(err)
	}
	if b.agents, err = harness.Install(t.Context(), harness.Dir("agents")); err != nil {
		t.Fatal(err)
	}

	t.Run("claude list", b.claudeList)
	t.Run("claude call", b.claudeCall)
	t.Run("claude types", b.claudeTypes)
	t.Run("codex", b.codex)
	t.Run("gemini", b.gemini)
	t.Run("opencode", b.opencode)
	t.Run("inspector", b.inspector)
	t.Run("sdk v1", b.sdk1)
	t.Run("sdk v2", b.sdk2)
	t.Run("http", b.http)
	t.Run("install", b.install)
	t.Run("board", b.board)
	t.Run("team", b.team)
	t.Run("crew", b.crew)
	t.Run("crew acp", b.acp)
	t.Run("crew resumed", b.resumed)
	t.Run("crew foreign", b.foreign)
	if t.Failed() {
		return
	}
	if only := flag.Lookup("test.run").Value.String(); only != "" {
		t.Logf("not written, since only %s ran:\n%s", only, b.report)
		return
	}
	if os.Getenv("BOSSMAN_E2E_ADD") != "" || os.Getenv("BOSSMAN_E2E_FEATURES") != "" {
		t.Logf("not written, since the server was not ours:\n%s", b.report)
		return
	}
	if err := b.report.write(harness.Dir("..", "docs", "interop.md")); err != nil {
		t.Error(err)
	}
}

func (b *bench) claudeList(t *testing.T) {
	server, rec := b.programs.Server(t, harness.AddServer)
	home := harness.Home(t)
	add := append([]string{b.agents.Bin("claude"), "mcp", "add", "bossman", "-s", "user", "--"}, server...)
	if out := run(t, home, nil, add...); out.Code != 0 {
		t.Fatalf("claude mcp add: exit code %d", out.Code)
	}
	out := run(t, home, nil, b.agents.Bin("claude"), "mcp", "list")
	connected(t, out, "bossman: ", "✔ Connected")
	b.report.add(t, row{
		client: "Claude Code, `claude mcp list`", version: b.agents.Version(t, "@anthropic-ai/claude-code"),
		shown: "connected, listed the tools", methods: []string{"tools/list"},
	}, rec)
}

// A scripted model asks Claude Code for one call of add and keeps the answer it
// is shown.
func (b *bench) claudeCall(t *testing.T) {
	server, rec := b.programs.Server(t, harness.AddServer)
	m := newModel(t, once("add", map[string]any{"a": 2, "b": 3}))
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"bossman": map[string]any{"type": "stdio", "command": server[0], "args": server[1:]},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if result := b.claudeSession(t, m, harness.Home(t), string(config)); !strings.Contains(result, "5") {
		t.Errorf("the model was shown %s, want the sum 5", result)
	}
	added(t, rec)
	b.report.add(t, row{
		client: "Claude Code, a session with a scripted model", version: b.agents.Version(t, "@anthropic-ai/claude-code"),
		shown: "called `add` with 2 and 3, the model read 5", methods: []string{"tools/list", "tools/call"},
	}, rec)
}

// claudeSession lets Claude Code talk to the model, in a folder, and gives back what
// the model was shown as the result of its last call.
func (b *bench) claudeSession(t *testing.T, m *standIn, dir, config string, env ...string) string {
	t.Helper()
	env = append(env,
		"ANTHROPIC_BASE_URL="+m.url,
		"ANTHROPIC_API_KEY=dummy",
		"ENABLE_TOOL_SEARCH=true", // as people have it; with a model elsewhere it is off by default
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	)
	out := run(t, dir, env, b.agents.Bin("claude"), "-p", "Do your work.",
		"--mcp-config", config, "--strict-mcp-config", "--allowedTools", "mcp__bossman",
		"--output-format", "stream-json", "--verbose")
	if out.Code != 0 {
		t.Fatalf("claude -p: exit code %d", out.Code)
	}
	results := m.results()
	if len(results) == 0 {
		t.Fatal("the model was shown no result")
	}
	return results[len(results)-1]
}

func (b *bench) codex(t *testing.T) {
	server, rec := b.programs.Server(t, harness.AddServer)
	home := harness.Home(t)
	// A JSON string is a TOML string too.
	write(t, filepath.Join(home, ".codex", "config.toml"),
		fmt.Sprintf("[mcp_servers.bossman]\ncommand = %s\nargs = %s\n", quote(t, server[0]), quote(t, server[1:])))

	var result struct {
		StructuredContent struct{ Result float64 }
	}
	b.codexCall(t, home, "add", map[string]any{"a": 2, "b": 3}, &result)
	if result.StructuredContent.Result != 5 {
		t.Errorf("mcpServer/tool/call = %+v, want the sum 5", result)
	}
	added(t, rec)
	b.report.add(t, row{
		client: "Codex, `codex app-server`", version: b.agents.Version(t, "@openai/codex"),
		shown: "connected, listed the tools, called `add` with 2 and 3, got 5", methods: []string{"tools/list", "tools/call"},
	}, rec)
}

// codexCall lets Codex list the tools of the server in its configuration and
// call one.
func (b *bench) codexCall(t *testing.T, home, tool string, arguments, result any) {
	t.Helper()
	b.codexThread(t, home, home, tool)(tool, arguments, result)
}

// codexThread starts Codex and a thread in a folder, and gives a function that calls
// tools there. The server in its configuration must have the tool named.
func (b *bench) codexThread(t *testing.T, home, dir, tool string) func(tool string, arguments, result any) {
	t.Helper()
	app := startApp(t, home, dir, b.agents.Bin("codex"), "app-server")
	app.call(t, "initialize", map[string]any{"clientInfo": map[string]any{"name": "bossman-e2e", "title": "Bossman", "version": "1"}}, nil)
	app.notify(t, "initialized")
	var status struct {
		Data []struct {
			Name  string
			Tools map[string]any
		}
	}
	app.call(t, "mcpServerStatus/list", map[string]any{}, &status)
	if len(status.Data) != 1 || status.Data[0].Name != "bossman" || status.Data[0].Tools[tool] == nil {
		t.Errorf("mcpServerStatus/list = %+v, want bossman with %s", status, tool)
	}
	var started struct{ Thread struct{ ID string } }
	app.call(t, "thread/start", map[string]any{"cwd": dir}, &started)
	return func(tool string, arguments, result any) {
		t.Helper()
		app.call(t, "mcpServer/tool/call", map[string]any{
			"threadId": started.Thread.ID, "server": "bossman", "tool": tool, "arguments": arguments,
		}, result)
	}
}

func (b *bench) gemini(t *testing.T) {
	server, rec := b.programs.Server(t, harness.AddServer)
	home := harness.Home(t)
	write(t, filepath.Join(home, ".gemini", "settings.json"),
		fmt.Sprintf(`{"mcpServers":{"bossman":{"command":%s,"args":%s}}}`, quote(t, server[0]), quote(t, server[1:])))
	out := run(t, home, []string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, b.agents.Bin("gemini"), "mcp", "list")
	connected(t, out, "✓ bossman", "Connected")
	b.report.add(t, row{
		client: "Gemini CLI, `gemini mcp list`", version: b.agents.Version(t, "@google/gemini-cli"),
		shown: "connected", methods: []string{"ping"},
	}, rec)
}

func (b *bench) opencode(t *testing.T) {
	server, rec := b.programs.Server(t, harness.AddServer)
	home := harness.Home(t)
	write(t, filepath.Join(home, ".config", "opencode", "opencode.json"),
		fmt.Sprintf(`{"mcp":{"bossman":{"type":"local","command":%s,"enabled":true}}}`, quote(t, server)))
	out := run(t, home, nil, b.agents.Bin("opencode"), "mcp", "list")
	connected(t, out, "✓ bossman", "connected")
	b.report.add(t, row{
		client: "opencode, `opencode mcp list`", version: b.agents.Version(t, "opencode-ai"),
		shown: "connected, listed the tools", methods: []string{"tools/list"},
	}, rec)
}

// The three that follow are tested at length in ../clients; here they only
// tell what they speak.

func (b *bench) inspector(t *testing.T) {
	server, rec := b.programs.Server(t, harness.AddServer)
	argv := append([]string{b.clients.Bin("mcp-inspector"), "--cli"}, server...)
	argv = append(argv, "--protocol-era", "auto", "--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3", "--format", "json")
	if out := run(t, harness.Home(t), nil, argv...); out.Code != 0 {
		t.Fatalf("exit code %d", out.Code)
	}
	b.called(t, "MCP Inspector, command line", "@modelcontextprotocol/inspector", rec)
}

func (b *bench) sdk1(t *testing.T) {
	server, rec := b.programs.Server(t, harness.AddServer)
	argv := append([]string{b.clients.Bin("node"), filepath.Join(b.clients.Dir, "sdk1.mjs"), "add"}, server...)
	if out := run(t, harness.Home(t), nil, argv...); out.Code != 0 {
		t.Fatalf("exit code %d", out.Code)
	}
	b.called(t, "TypeScript SDK v1", "@modelcontextprotocol/sdk", rec)
}

func (b *bench) sdk2(t *testing.T) {
	server, rec := b.programs.Server(t, harness.AddServer)
	argv := append([]string{b.clients.Bin("node"), filepath.Join(b.clients.Dir, "sdk2.mjs"), "add", "auto"}, server...)
	if out := run(t, harness.Home(t), nil, argv...); out.Code != 0 {
		t.Fatalf("exit code %d", out.Code)
	}
	b.called(t, "TypeScript SDK v2, negotiating", "@modelcontextprotocol/client", rec)
}

func (b *bench) called(t *testing.T, client, pkg string, rec *harness.Record) {
	t.Helper()
	added(t, rec)
	b.report.add(t, row{
		client: client, version: b.clients.Version(t, pkg),
		shown: "listed the tools, called `add` with 2 and 3, got 5", methods: []string{"tools/list", "tools/call"},
	}, rec)
}

// added shows that add was called over the pipe and answered with 5. Clients
// that also call it wrongly on purpose do so later.
func added(t *testing.T, rec *harness.Record) {
	t.Helper()
	var seen []string
	for _, e := range rec.Exchanges(t) {
		var result struct {
			StructuredContent struct{ Result float64 }
		}
		if e.Method == "tools/call" && json.Unmarshal(e.Result, &result) == nil && result.StructuredContent.Result == 5 {
			return
		}
		seen = append(seen, e.Method)
	}
	t.Errorf("no tools/call was answered with the sum 5 among %v", seen)
}

// connected shows that a listing has a line with these words. Whether it goes
// to stdout or stderr differs between agents, and the exit code tells nothing.
func connected(t *testing.T, out harness.Output, words ...string) {
	t.Helper()
	for line := range strings.Lines(out.Stdout + out.Stderr) {
		found := true
		for _, w := range words {
			found = found && strings.Contains(line, w)
		}
		if found {
			return
		}
	}
	t.Errorf("no line of the listing says %q", words)
}

// run runs a program in a folder that is its home, or in one of its home's folders.
func run(t *testing.T, dir string, env []string, argv ...string) harness.Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := harness.Command(ctx, dir, argv...)
	cmd.Env = append(cmd.Env, env...)
	return harness.Run(t, cmd)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func quote(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
