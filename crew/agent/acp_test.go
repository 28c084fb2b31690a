//go:build linux

package agent

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/proc"
)

// TestACP_permission: each agent asks for something, is refused with words, and goes on. Those that
// end their turn then are told the words in the next one.
func TestACP_permission(t *testing.T) {
	for _, tc := range []struct {
		agent, tool, use string
		mode, option     string
		refused, model   string
		words            string
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
			agent: "claude-acp", tool: "Bash", use: "curl http://127.0.0.1:1/", words: "fetch",
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
			if p.Tool != tc.tool || p.Use != tc.use || p.Words != tc.words {
				t.Errorf("Asks = %q for %q, %q; want %q for %q, %q", p.Tool, p.Use, p.Words, tc.tool, tc.use, tc.words)
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
	home := t.TempDir()
	link := filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", link) // as worktrees are not named
	for _, tc := range []struct{ agent, file, want string }{
		{"opencode", "slot/opencode.json", "the repository has opencode.json, with which"},
		{"gemini", "slot/.env", "the repository has .env, with which"},
		{"gemini", ".env", "/pkg/web.worktrees/.env\", with which"},
		{"gemini", "../.env", "/pkg/.env\", with which"},
		{"gemini", "../../.gemini/.env", "started"}, // in the home
		{"copilot", ".env", "started"},
		{"copilot", "slot/lsp.json", "the repository has lsp.json, with which"},
		{"copilot", "slot/.github/lsp.json", "the repository has .github/lsp.json, with which"},
		{"copilot", "slot/.github/extensions", "the repository has .github/extensions, with which"},
		{"copilot", "slot/.github/agents", "the repository has .github/agents, with which"},
		{"copilot", "slot/.claude/settings.json", "the repository has .claude/settings.json, with which"},
	} {
		dir := filepath.Join(home, "pkg", "web.worktrees")
		file := filepath.Join(dir, tc.file)
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "slot"), 0o700), os.MkdirAll(filepath.Dir(file), 0o700), os.Symlink("/nowhere", file)); err != nil {
			t.Fatal(err)
		}
		a, err := ACP(ACPOptions{Name: tc.agent, Command: []string{self}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Start(Job{Dir: filepath.Join(dir, "slot"), Mind: func(*exec.Cmd) (*proc.Minded, error) { return nil, errors.New("started") }})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s with %s: %v, want %s", tc.agent, tc.file, err, tc.want)
		}
		if err := os.RemoveAll(filepath.Join(home, "pkg")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestACP_vague: what an agent asks about is what it has told about that call before. If it has told
// nothing, that is known.
func TestACP_vague(t *testing.T) {
	const open = `{"toolCallId":"c","sessionUpdate":"tool_call","title":"bash","kind":"execute","rawInput":{"cwd":"/web"}}`
	for _, tc := range []struct {
		updates []string
		call    string
		titled  bool
		use     string
		vague   bool
	}{
		{updates: []string{open}, call: `{"toolCallId":"c","title":"bash","kind":"other","rawInput":{}}`, use: "bash\n" + `{"cwd":"/web"}`, vague: true},
		{call: `{"toolCallId":"c","title":"bash","kind":"execute","rawInput":{}}`, use: "bash", vague: true},
		{call: `{"toolCallId":"c","title":"Run a command","kind":"execute","content":[{"content":{"text":"to look"}}]}`, use: "Run a command\nto look", vague: true},
		{call: `{"toolCallId":"c","title":"ls","kind":"execute"}`, titled: true, use: "ls"},
		{
			updates: []string{open, `{"toolCallId":"c","sessionUpdate":"tool_call_update","rawInput":{"command":"rm -rf ~","workdir":"/"}}`},
			call:    `{"toolCallId":"c","title":"bash","kind":"execute","rawInput":{}}`, use: "rm -rf ~\n" + `{"workdir":"/"}`,
		},
		{
			updates: []string{`{"toolCallId":"c","sessionUpdate":"tool_call","title":"bash","kind":"execute","rawInput":{"command":"ls"}}`},
			call:    `{"toolCallId":"d","title":"bash","kind":"execute","rawInput":{}}`, use: "bash", vague: true,
		},
		{
			updates: []string{open, `{"toolCallId":"c","sessionUpdate":"tool_call_update","rawInput":{"command":"ls"}}`, `{"toolCallId":"c","sessionUpdate":"tool_call_update","status":"completed"}`},
			call:    `{"toolCallId":"c","title":"bash","kind":"execute","rawInput":{}}`, use: "bash", vague: true,
		},
		{
			updates: []string{`{"toolCallId":"c","sessionUpdate":"tool_call","title":"edit","kind":"edit","content":[{"path":"/etc/hosts","newText":"x"}]}`},
			call:    `{"toolCallId":"c","title":"edit"}`, use: "edit\n/etc/hosts\nx",
		},
		{
			call: `{"toolCallId":"c","title":"do","kind":"other","rawInput":{"command":"create_issue","description":"a secret"}}`,
			use:  "create_issue\n" + `{"description":"a secret"}`,
		},
		{call: `{"toolCallId":"c","title":"edit","kind":"edit"}`, use: "edit", vague: true},
		{call: `{"toolCallId":"c","title":"deploy","kind":"other","rawInput":{"to":"web"}}`, use: "deploy\n" + `{"to":"web"}`},
	} {
		s := &acpSession{}
		for _, u := range tc.updates {
			if u, ok := readUpdate([]byte(`{"update":` + u + `}`)); !ok {
				t.Errorf("%+v is no update", u)
			} else {
				s.keep(u)
			}
		}
		p, ok := readPermission([]byte(`{"toolCall":`+tc.call+`}`), s.calls)
		if !ok || p.use() != tc.use || p.vague(tc.titled) != tc.vague {
			t.Errorf("%s after %s: %q, vague %t, want %q, %t", tc.call, tc.updates, p.use(), p.vague(tc.titled), tc.use, tc.vague)
		}
	}
}

// TestACP_many: what is kept about calls is bounded.
func TestACP_many(t *testing.T) {
	s := &acpSession{}
	for i := range 10 * maxNotes {
		u := acpUpdate{Update: "tool_call", acpCall: acpCall{ID: strconv.Itoa(i), Title: "bash"}}
		s.keep(u)
		u.Update, u.Input = "tool_call_update", []byte(`{"command":"`+strings.Repeat("x", maxNote)+`"}`)
		if s.keep(u); i%2 == 0 {
			s.keep(acpUpdate{Update: "tool_call", acpCall: u.acpCall})
		}
		if n := len(s.calls); n > maxNotes {
			t.Fatalf("%d calls are kept", n)
		}
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
		s := &acpSession{rpc: newRPC(st, "2.0"), agent: &acp{}, asked: map[*acpAsked]bool{}}
		s.rpc.request, s.rpc.notice = s.request, s.notice
		s.Tell("web-4 is yours.")
		s.take(line)
		s.take(line) // the same message goes on
		close(st.events)
		for e := range st.events {
			if e.Kind == Activity && len(e.Whole()) > maxLine+len("calls ") {
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

// TestACP_price: what an agent tells of its cost is known while it works, and not only when it has ended its turn.
func TestACP_price(t *testing.T) {
	s, _ := start(t, "acp/claude-acp")
	until(t, s, Asks).Permission.Answer(No, "no")
	for e := range s.Events() {
		if u := e.Usage; e.Kind == Activity && u != nil && u.Priced && u.Cost > 0 {
			return
		}
		if e.Kind == Turn {
			t.Fatal("the turn has ended, and no activity before had a price")
		}
	}
}
