//go:build linux

package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestACP_permission: each agent asks for something, is refused with words, and goes on. Those that
// end their turn then are told the words in the next one.
func TestACP_permission(t *testing.T) {
	for _, tc := range []struct {
		agent, tool, use string
		mode, option     string
		refused, model   string
		used             *Usage
	}{
		{
			agent: "gemini", tool: "a command", use: "curl http://127.0.0.1:1/\n[current working directory /src/web.worktrees/slot-1] (fetch)",
			mode: "autoEdit", option: "cancel",
		},
		{
			agent: "opencode", tool: "a command", use: "cat /etc/hostname\n" + `{"directories":["/etc"],"patterns":["/etc/*"]}`,
			option: "reject", refused: "only on Fridays", model: "scripted/scripted", used: &Usage{In: 200, Out: 20},
		},
		{
			agent: "claude-acp", tool: "Bash", use: "curl http://127.0.0.1:1/",
			mode: "acceptEdits", option: "reject", model: "default", used: &Usage{In: 300, Out: 30, Cost: 0.0024000000000000002, Priced: true},
		},
		{
			agent: "codex-acp", tool: "a command", use: "touch /root/outside\n" + `{"cwd":"/src/web.worktrees/slot-1"}`,
			mode: "workspace-write", option: "cancel", refused: "only on Fridays", model: "gpt-5", used: &Usage{In: 300, Out: 30},
		},
	} {
		t.Run(tc.agent, func(t *testing.T) {
			s, heard := start(t, "acp/"+tc.agent)
			if e := until(t, s, Started); e.Session == "" || e.Model != tc.model {
				t.Errorf("Started = %+v, want the session and the model %q", e, tc.model)
			}
			p := until(t, s, Asks).Permission
			if p.Tool != tc.tool || p.Use != tc.use {
				t.Errorf("Asks = %q for %q, want %q for %q", p.Tool, p.Use, tc.tool, tc.use)
			}
			p.Answer(No, "only on Fridays")
			p.Answer(Once, "") // too late
			e := until(t, s, Turn)
			if e.Fault != "" || !e.Refused {
				t.Errorf("Turn = %+v, want that something was refused", e)
			}
			if tc.refused != "" {
				s.Tell("You have not reported.")
				e = until(t, s, Turn)
			}
			if e.Text != "end" || (e.Usage == nil) != (tc.used == nil) || e.Usage != nil && *e.Usage != *tc.used {
				t.Errorf("Turn = %+v, %+v, want %+v", e, e.Usage, tc.used)
			}
			s.Finish()
			if e := until(t, s, Ended); e.Ending.Exit != 0 || e.Text != "end" {
				t.Errorf("Ended = %+v", e)
			}
			for _, want := range []string{
				`"readTextFile":false`, `"terminal":false`, `"name":"BOSSMAN_SOCKET"`, `"value":"/desk/socket"`, `"args":["mcp","--join"]`,
				tc.mode, `"text":"web-4 is yours."`, `"optionId":"` + tc.option + `"`, tc.refused,
			} {
				if !strings.Contains(heard(), want) {
					t.Errorf("it was told\n%s\nwant %s", heard(), want)
				}
			}
		})
	}
}

// TestACP_once: what people allow is allowed once, also if they allow it for the task: the agent's
// own ways to allow more outlast the task. bossman work answers the next time.
func TestACP_once(t *testing.T) {
	s, heard := start(t, "acp/codex-acp")
	until(t, s, Asks).Permission.Answer(ForTask, "")
	if e := until(t, s, Turn); e.Refused {
		t.Errorf("Turn = %+v, nothing was refused", e)
	}
	s.End()
	until(t, s, Ended)
	if !strings.Contains(heard(), `"optionId":"allow_once"`) {
		t.Errorf("it was told\n%s", heard())
	}
}

func TestACP_fault(t *testing.T) {
	for name, want := range map[string]Event{
		"gemini.limit":     {Fault: Limited, Text: "You have exhausted your daily quota on this model."},
		"claude-acp.limit": {Fault: Limited, Text: "Request rejected (429)"},
		"codex-acp.denied": {Fault: Unusable, Text: "Authentication required"},
		"opencode.denied":  {Fault: Unusable, Text: "invalid key"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := start(t, "acp/"+name)
			if e := until(t, s, Turn); e.Fault != want.Fault || !strings.Contains(e.Text, want.Text) {
				t.Errorf("Turn = %+v, want %q and %q", e, want.Fault, want.Text)
			}
			s.End()
			until(t, s, Ended)
		})
	}
}

// TestACP_cancel: an agent that is ended in the middle of a turn is told so, and its question is
// closed.
func TestACP_cancel(t *testing.T) {
	s, heard := start(t, "acp/gemini.cancel")
	until(t, s, Asks)
	go s.End()
	until(t, s, Ended)
	for _, want := range []string{`"method":"session/cancel"`, `"outcome":"cancelled"`} {
		if !strings.Contains(heard(), want) {
			t.Errorf("it was told\n%s\nwant %s", heard(), want)
		}
	}
}

// TestACP_project: an agent that would run programs of the repository is not started there.
func TestACP_project(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink("/nowhere", filepath.Join(dir, "opencode.json")); err != nil {
		t.Fatal(err)
	}
	a, err := ACP(ACPOptions{Name: "opencode", Command: []string{self}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = a.Start(Job{Dir: dir}); err == nil || !strings.Contains(err.Error(), "the repository has opencode.json") {
		t.Errorf("Start: %v, want the file that is in the way", err)
	}
}

// FuzzACP: whatever an agent says in its turn, what is passed on is bounded and says something.
func FuzzACP(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "acp", "*.jsonl"))
	if err != nil || len(files) == 0 {
		f.Fatal("no recorded conversations", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			f.Add(line)
		}
	}
	in, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { in.Close() })
	f.Fuzz(func(t *testing.T, line []byte) {
		st := &stream{pipes: &pipes{in: in}, events: make(chan Event, 8)}
		s := &acpSession{rpc: newRPC(st, "2.0"), asked: map[*acpAsked]bool{}}
		s.rpc.request, s.rpc.notice = s.request, s.notice
		s.Tell("web-4 is yours.")
		s.take(line)
		s.take(line) // the same message goes on
		close(st.events)
		for e := range st.events {
			if e.Kind == Activity && len(e.Text) > maxLine+len("calls ") {
				t.Errorf("a text of %d bytes was passed on", len(e.Text))
			}
			if e.Kind == Asks {
				if e.Permission.Tool == "" || e.Permission.Use == "" {
					t.Errorf("it asks for nothing: %+v", e.Permission)
				}
				e.Permission.Answer(Once, "")
			}
		}
	})
}
