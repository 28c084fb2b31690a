package agents

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

const (
	overHTTP = "Streamable HTTP"
	onBoard  = "stdio, a board"
	greeting = "Hello, ada!"
)

// http runs the agents over HTTP, at the same time and against one process.
func (b *bench) http(t *testing.T) {
	service := b.programs.Service(t, harness.FeaturesServer)
	for _, agent := range []struct {
		name string
		run  func(t *testing.T, url string, rec *harness.Record)
	}{
		{"claude list", b.claudeListHTTP},
		{"codex", b.codexHTTP},
		{"claude call", b.claudeCallHTTP},
		{"gemini", b.geminiHTTP},
		{"opencode", b.opencodeHTTP},
	} {
		t.Run(agent.name, func(t *testing.T) {
			t.Parallel()
			url, rec := service.Front(t, 0)
			agent.run(t, url, rec)
		})
	}
}

func (b *bench) claudeListHTTP(t *testing.T, url string, rec *harness.Record) {
	home := harness.Home(t)
	add := []string{b.agents.Bin("claude"), "mcp", "add", "--transport", "http", "-s", "user", "bossman", url}
	if out := run(t, home, nil, add...); out.Code != 0 {
		t.Fatalf("claude mcp add: exit code %d", out.Code)
	}
	out := run(t, home, nil, b.agents.Bin("claude"), "mcp", "list")
	connected(t, out, "bossman: ", "✔ Connected")
	b.report.add(t, row{
		client: "Claude Code, `claude mcp list`", version: b.agents.Version(t, "@anthropic-ai/claude-code"),
		transport: overHTTP, shown: "connected, listed the tools", methods: []string{"tools/list"},
	}, rec)
}

func (b *bench) claudeCallHTTP(t *testing.T, url string, rec *harness.Record) {
	m := newModel(t, once("greet", map[string]any{"name": "ada"}))
	config := fmt.Sprintf(`{"mcpServers":{"bossman":{"type":"http","url":%s}}}`, quote(t, url))
	if result := b.claudeSession(t, m, harness.Home(t), config); !strings.Contains(result, greeting) {
		t.Errorf("the model was shown %s, want %s", result, greeting)
	}
	greeted(t, rec)
	b.report.add(t, row{
		client: "Claude Code, a session with a scripted model", version: b.agents.Version(t, "@anthropic-ai/claude-code"),
		transport: overHTTP, shown: "called `greet`, the model read the greeting", methods: []string{"tools/list", "tools/call"},
	}, rec)
}

func (b *bench) codexHTTP(t *testing.T, url string, rec *harness.Record) {
	home := harness.Home(t)
	write(t, filepath.Join(home, ".codex", "config.toml"), fmt.Sprintf("[mcp_servers.bossman]\nurl = %s\n", quote(t, url)))
	var result struct{ Content []struct{ Text string } }
	b.codexCall(t, home, "greet", map[string]any{"name": "ada"}, &result)
	if len(result.Content) != 1 || result.Content[0].Text != greeting {
		t.Errorf("mcpServer/tool/call = %+v, want %s", result, greeting)
	}
	greeted(t, rec)
	b.report.add(t, row{
		client: "Codex, `codex app-server`", version: b.agents.Version(t, "@openai/codex"),
		transport: overHTTP, shown: "connected, listed the tools, called `greet`, got the greeting", methods: []string{"tools/list", "tools/call"},
	}, rec)
}

func (b *bench) geminiHTTP(t *testing.T, url string, rec *harness.Record) {
	home := harness.Home(t)
	write(t, filepath.Join(home, ".gemini", "settings.json"),
		fmt.Sprintf(`{"mcpServers":{"bossman":{"type":"http","url":%s}}}`, quote(t, url)))
	out := run(t, home, []string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, b.agents.Bin("gemini"), "mcp", "list")
	connected(t, out, "✓ bossman", "Connected")
	b.report.add(t, row{
		client: "Gemini CLI, `gemini mcp list`", version: b.agents.Version(t, "@google/gemini-cli"),
		transport: overHTTP, shown: "connected", methods: []string{"ping"},
	}, rec)
}

func (b *bench) opencodeHTTP(t *testing.T, url string, rec *harness.Record) {
	home := harness.Home(t)
	write(t, filepath.Join(home, ".config", "opencode", "opencode.json"),
		fmt.Sprintf(`{"mcp":{"bossman":{"type":"remote","url":%s,"enabled":true}}}`, quote(t, url)))
	out := run(t, home, nil, b.agents.Bin("opencode"), "mcp", "list")
	connected(t, out, "✓ bossman", "connected")
	b.report.add(t, row{
		client: "opencode, `opencode mcp list`", version: b.agents.Version(t, "opencode-ai"),
		transport: overHTTP, shown: "connected, listed the tools", methods: []string{"tools/list"},
	}, rec)
}

// greeted shows that greet was called and answered.
func greeted(t *testing.T, rec *harness.Record) {
	t.Helper()
	var result struct{ Content []struct{ Text string } }
	e := rec.Called(t, "greet")
	if json.Unmarshal(e.Result, &result) != nil || len(result.Content) != 1 || result.Content[0].Text != greeting {
		t.Errorf("greet was answered %s%s, want %s", e.Result, e.Error, greeting)
	}
}
