package agents

import (
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
)

const (
	onServer = "Streamable HTTP, a team's server"
	onLaptop = "stdio, a laptop of a team"
)

// team runs agents on the board of a team's server: three replicas, and a balancer that
// sends every request to another. They come directly, with a key in a header, or
// through bossman mcp on a laptop.
func (b *bench) team(t *testing.T) {
	scripted := func(session func(t *testing.T, o *office, m *standIn, e entry)) func(*testing.T, *office, entry, *harness.Record) string {
		return func(t *testing.T, o *office, e entry, rec *harness.Record) string {
			o.fill(t)
			m := newModel(t, o.work(t))
			session(t, o, m, e)
			o.worked(t, m)
			return o.seen(t, m, rec)
		}
	}
	for _, agent := range []struct {
		name, client, pkg string
		// run gives what was shown.
		run func(*testing.T, *office, entry, *harness.Record) string
	}{
		{"claude", "Claude Code, a session with a scripted model", "@anthropic-ai/claude-code", scripted(func(t *testing.T, o *office, m *standIn, e entry) {
			b.claudeSession(t, m, o.dir, claudeConfig(t, e), "HOME="+o.home)
		})},
		{"codex", "Codex, `codex exec`", "@openai/codex", scripted(func(t *testing.T, o *office, m *standIn, e entry) { o.codexExec(t, m, e) })},
		{"codex app-server", "Codex, `codex app-server`", "@openai/codex", func(t *testing.T, o *office, e entry, _ *harness.Record) string {
			o.codexPlans(t, e)
			return planned
		}},
		{"gemini", "Gemini CLI, a session with a scripted model", "@google/gemini-cli", scripted(func(t *testing.T, o *office, m *standIn, e entry) { o.geminiSession(t, m, e) })},
		{"opencode", "opencode, a session with a scripted model", "opencode-ai", scripted(func(t *testing.T, o *office, m *standIn, e entry) { o.opencodeSession(t, m, e) })},
	} {
		for _, far := range []bool{true, false} {
			name, transport := agent.name+"/http", onServer
			if !far {
				name, transport = agent.name+"/laptop", onLaptop
			}
			t.Run(name, func(t *testing.T) {
				team := teamserver.Start(t, b.programs.Path(harness.Bossman), 3)
				laptop := team.Laptop(t, team.Key(t, "--role", "lead", "--person", "ada"), teamserver.Project)
				o := &office{b: b, dir: laptop.Dir, home: laptop.Home, far: far}
				server, rec := o.server(t)
				if far {
					url, heard := (&harness.Service{URL: team.MCP()}).Front(t, 0)
					server, rec = entry{url: url, key: team.Key(t, "--role", "lead", "--owner", "ada")}, heard
				}
				shown := agent.run(t, o, server, rec)
				for i, r := range team.Replicas {
					if r.Served() == 0 {
						t.Errorf("replica %d was sent nothing", i)
					}
				}
				if n := team.Refused(); n > 0 {
					t.Errorf("%d requests failed at the balancer, want none", n)
				}
				b.report.add(t, row{
					client: agent.client, version: b.agents.Version(t, agent.pkg),
					transport: transport, shown: shown, methods: []string{"tools/list", "tools/call"},
				}, rec)
			})
		}
	}
}
