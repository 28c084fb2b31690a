package agents

import (
	"os"
	"path/filepath"
	"strings"
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
	if agent == "codex" {
		return once("exec_command", map[string]any{"cmd": "echo hello > greeting.txt"})
	}
	return once("Write", map[string]any{"file_path": "greeting.txt", "content": "hello\n"})
}

// crewed lets bossman work run an agent on one task, with a model.
func (o *office) crewed(t *testing.T, m *model, agent string) {
	t.Helper()
	write(t, filepath.Join(o.home, ".codex", "config.toml"), "model = \"gpt-5\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = "+
		quote(t, m.url+"/v1")+"\nwire_api = \"responses\"\n")
	env := []string{
		"PATH=" + filepath.Dir(o.b.agents.Bin("claude")) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"ANTHROPIC_BASE_URL=" + m.url, "ANTHROPIC_API_KEY=dummy", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	out := o.run(t, env, o.b.programs.Path(harness.Bossman), "work", "--agent", agent, "--max-tasks", "1")
	if out.Code != 0 {
		t.Fatalf("bossman work: exit code %d\n%s", out.Code, out.Stderr)
	}
}
