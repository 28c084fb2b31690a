package agents

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// crew lets bossman work run agents of two makers on one task: the first one leaves a file and
// forgets to report, though it is told, and the second one finishes the task from that state.
func (b *bench) crew(t *testing.T) {
	for _, tc := range []struct{ first, second string }{{"claude", "codex"}, {"codex", "claude"}} {
		t.Run(tc.first+" then "+tc.second, func(t *testing.T) {
			o := b.office(t)
			o.cli(t, "task", "add", "Greet")
			o.crewed(t, newModel(t, leaves(tc.first)), tc.first)
			if task := o.task(t, "web-1"); task.Status != "pending" || len(task.Attempts) != 1 || task.Attempts[0].Cause != "failed" {
				t.Fatalf("after %s the task is %+v, want one failed attempt", tc.first, task)
			}
			m := newModel(t, once("report_task_done", map[string]any{"claim": "web-1", "summary": "Greeted."}))
			o.crewed(t, m, tc.second)
			if task := o.task(t, "web-1"); task.Status != "done" || task.Result.Summary != "Greeted." {
				t.Fatalf("after %s the task is %+v, want it done", tc.second, task)
			}
			if !strings.Contains(m.request(), "the last state of attempt 1: go on with that") || !strings.Contains(m.request(), "ended without a report") {
				t.Errorf("%s was not told about the first attempt:\n%s", tc.second, m.request())
			}
			out := run(t, o.dir, nil, "git", "show", "bossman/web-1:greeting.txt")
			if out.Code != 0 || !strings.Contains(out.Stdout, "hello") {
				t.Errorf("the branch has not what %s left: %q", tc.first, out.Stdout)
			}
		})
	}
}

// leaves is a script that writes a file with a tool of the agent's own, and nothing more.
func leaves(agent string) script {
	w := writes[agent]
	return once(w.tool, w.input)
}

// writes are how agents write a file.
var writes = map[string]sought{
	"claude":     {"Write", map[string]any{"file_path": "greeting.txt", "content": "hello\n"}},
	"claude-acp": {"Write", map[string]any{"file_path": "greeting.txt", "content": "hello\n"}},
	"codex":      {"exec_command", map[string]any{"cmd": "echo hello > greeting.txt"}},
	"codex-acp":  {"exec_command", map[string]any{"cmd": "echo hello > greeting.txt"}},
	"gemini":     {"write_file", map[string]any{"file_path": "greeting.txt", "content": "hello\n"}},
	"opencode":   {"write", map[string]any{"filePath": "greeting.txt", "content": "hello\n"}},
}

// asks are what agents that speak ACP have to be allowed.
var asks = map[string]sought{
	"claude-acp": {"Bash", map[string]any{"command": "curl http://127.0.0.1:1/", "description": "fetch"}},
	"codex-acp":  {"exec_command", map[string]any{"cmd": "curl http://127.0.0.1:1/", "sandbox_permissions": "require_escalated", "justification": "fetch"}},
	"gemini":     {"run_shell_command", map[string]any{"command": "curl http://127.0.0.1:1/", "description": "fetch"}},
	"opencode":   {"bash", map[string]any{"command": "curl http://127.0.0.1:1/", "description": "fetch", "workdir": "/etc"}},
}

// acp lets bossman work run agents over the Agent Client Protocol: each writes a file, asks people
// for something, is refused with words that its model reads, and reports.
//
// Copilot CLI 1.0.102 does not get that far without an account: it answers session/new with
// "Authentication required", which bossman work shows.
func (b *bench) acp(t *testing.T) {
	for agent, ask := range asks {
		t.Run(agent, func(t *testing.T) {
			o := b.office(t)
			o.cli(t, "task", "add", "Greet")
			m := newModel(t, func(shown []string) (string, any) {
				switch len(shown) {
				case 0:
					return writes[agent].tool, writes[agent].input
				case 1:
					return ask.tool, ask.input
				case 2:
					return "report_task_done", map[string]any{"claim": "web-1", "summary": "Greeted."}
				}
				return "", nil
			})
			var person sync.WaitGroup
			person.Go(func() { o.answerNext(t, "only on Fridays") })
			o.crewed(t, m, agent)
			person.Wait()
			task := o.task(t, "web-1")
			if task.Status != "done" || task.Result.Summary != "Greeted." || len(task.Attempts) != 1 {
				t.Errorf("the task is %+v, want it done at the first attempt", task)
			}
			if out := run(t, o.dir, nil, "git", "show", "bossman/web-1:greeting.txt"); out.Code != 0 || !strings.Contains(out.Stdout, "hello") {
				t.Errorf("the branch has not what it wrote: %q", out.Stdout)
			}
			if !strings.Contains(m.heard(), "only on Fridays") {
				t.Errorf("the model was not told the words of the refusal:\n%s", m.heard())
			}
			if len(m.searches()) > 0 {
				t.Errorf("the model had to search for %v", m.searches())
			}
		})
	}
}

// resumed lets each agent ask people, which parks its task. When they have answered, it goes on in
// the same session: its model still has the call and its result.
//
// Gemini CLI 0.61.0 is not here. It loads no session in the minute in which that began, because it
// has then overwritten its file: "Invalid session identifier". bossman work begins a new one.
func (b *bench) resumed(t *testing.T) {
	for agent := range writes {
		if agent == "gemini" {
			continue
		}
		t.Run(agent, func(t *testing.T) {
			o := b.office(t)
			o.cli(t, "task", "add", "Greet")
			o.crewed(t, newModel(t, once("ask_question", map[string]any{"claim": "web-1", "question": "Whom?", "wait_seconds": 1})), agent)
			if task := o.task(t, "web-1"); task.Attempts[0].Cause != "parked" {
				t.Fatalf("the task is %+v, want it parked", task)
			}
			o.cli(t, "answer", "q-1", "The world.")
			m := newModel(t, func(shown []string) (string, any) {
				switch len(shown) {
				case 0:
					return "report_task_failed", map[string]any{"claim": "web-1", "reason": "The session is a new one."}
				case 1:
					return "report_task_done", map[string]any{"claim": "web-1", "summary": "Greeted."}
				}
				return "", nil
			})
			o.crewed(t, m, agent)
			if task := o.task(t, "web-1"); task.Status != "done" {
				t.Errorf("the task is %+v, want it done", task)
			}
			if !strings.Contains(m.heard(), "Whom?") || !strings.Contains(m.heard(), "The world.") {
				t.Errorf("the model was not told the answer:\n%s", m.heard())
			}
		})
	}
}

// foreign runs agents in a repository whose files would have them run programs: none runs.
func (b *bench) foreign(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "claude-acp"} {
		t.Run(agent, func(t *testing.T) {
			o := b.office(t)
			mark := filepath.Join(o.home, "ran")
			hook := []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "touch " + mark}}}}
			write(t, filepath.Join(o.dir, ".claude", "settings.json"), quote(t, map[string]any{
				"hooks": map[string]any{"SessionStart": hook, "UserPromptSubmit": hook}, "enableAllProjectMcpServers": true,
			}))
			write(t, filepath.Join(o.dir, ".mcp.json"), quote(t, map[string]any{
				"mcpServers": map[string]any{"foreign": map[string]any{"command": "touch", "args": []string{mark}}},
			}))
			write(t, filepath.Join(o.dir, ".codex", "config.toml"), "[mcp_servers.foreign]\ncommand = \"touch\"\nargs = ["+quote(t, mark)+"]\n")
			harness.Git(t, o.dir, "add", ".")
			harness.Git(t, o.dir, "commit", "-q", "-m", "settings")
			o.cli(t, "task", "add", "Greet")
			o.crewed(t, newModel(t, once("report_task_done", map[string]any{"claim": "web-1", "summary": "Greeted."})), agent)
			if task := o.task(t, "web-1"); task.Status != "done" {
				t.Errorf("the task is %+v, want it done", task)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("a program of the repository ran")
			}
		})
	}
}

// crewed lets bossman work run an agent on one task, with a model.
func (o *office) crewed(t *testing.T, m *standIn, agent string) {
	t.Helper()
	write(t, filepath.Join(o.home, ".codex", "config.toml"), "model = \"gpt-5\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = "+
		quote(t, m.url+"/v1")+"\nwire_api = \"responses\"\n")
	path := []string{filepath.Dir(o.b.agents.Bin("claude")), filepath.Dir(o.b.clients.Bin("node")), os.Getenv("PATH")}
	env := []string{
		"PATH=" + strings.Join(path, string(os.PathListSeparator)),
		"ANTHROPIC_BASE_URL=" + m.url, "ANTHROPIC_API_KEY=dummy", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	env = append(env, o.geminiHome(t, m, map[string]any{})...)
	env = append(env, o.opencodeHome(t, m, map[string]any{})...)
	out := o.run(t, env, o.b.programs.Path(harness.Bossman), "work", "--agent", agent, "--max-tasks", "1")
	if out.Code != 0 {
		t.Fatalf("bossman work: exit code %d\n%s", out.Code, out.Stderr)
	}
}
