//go:build linux

package agent

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/proc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestMain makes the test program a minder, or an agent that replays a conversation.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "minder":
		if proc.RunMinder(os.Args[2:]) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv("REPLAY") != "":
		if err := replay(os.Getenv("REPLAY"), os.Getenv("HEARD")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// replay writes the lines of a file, which an agent wrote once: Claude Code 2.1.197 and 2.1.325, Codex 0.166.0, and
// over ACP Gemini CLI 0.61.0, opencode 1.18.33, claude-agent-acp 0.99.1 and codex-acp 2.6.0. At a line
// with < it reads a line first, and keeps it. At the end it reads until its input ends.
func replay(path, heard string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kept, err := os.Create(heard)
	if err != nil {
		return err
	}
	fmt.Fprintln(kept, strings.Join(os.Args[1:], " "))
	in := bufio.NewScanner(os.Stdin)
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) != "<" {
			fmt.Print(line)
			continue
		}
		if !in.Scan() {
			return fmt.Errorf("no input: %v", in.Err())
		}
		fmt.Fprintln(kept, in.Text())
	}
	for in.Scan() {
		fmt.Fprintln(kept, in.Text())
	}
	return nil
}

// start starts an agent that replays a conversation. heard returns its arguments and what it was told.
func start(t *testing.T, name string) (s Session, heard func() string) {
	t.Helper()
	return resume(t, name, "")
}

// resume starts one that goes on with a session.
func resume(t *testing.T, name, session string) (s Session, heard func() string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Abs(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	join := []string{"bossman", "mcp", "--join"}
	var a Agent
	switch kind, rest, _ := strings.Cut(name, "/"); kind {
	case "claude":
		a, err = Claude(ClaudeOptions{Path: self, Join: join})
	case "codex":
		a, err = Codex(CodexOptions{Path: self, Join: join})
	case "acp":
		known, _, _ := strings.Cut(rest, ".")
		a, err = ACP(ACPOptions{Name: known, Command: []string{self}, Join: join})
	}
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "heard")
	s, err = a.Start(Job{
		Dir: t.TempDir(), Prompt: "web-4 is yours.", Session: session, Env: append(os.Environ(), "REPLAY="+file, "HEARD="+out, "CLAUDECODE=1", "BOSSMAN_SOCKET=/desk/socket"),
		Mind: func(cmd *exec.Cmd) (*proc.Minded, error) {
			if !strings.HasPrefix(name, "codex/") && strings.Contains(strings.Join(cmd.Env, "\n"), "CLAUDECODE=") {
				t.Error("it would take itself for a part of the Claude Code above")
			}
			return proc.Mind(cmd, []string{self, "minder"}, "test", time.Second)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.End)
	return s, func() string {
		text, _ := os.ReadFile(out)
		return string(text)
	}
}

// until returns the next event of a kind.
func until(t *testing.T, s Session, kind Kind) Event {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				t.Fatalf("the session ended without the event %s", kind)
			}
			if e.Kind == kind {
				return e
			}
		case <-late:
			t.Fatalf("no event %s", kind)
		}
	}
}

func TestClaude_permission(t *testing.T) {
	s, heard := start(t, "claude/permission")
	if e := until(t, s, Started); e.Session == "" || e.Model == "" {
		t.Errorf("Started = %+v, want the session and the model", e)
	}
	if e := until(t, s, Activity); e.Whole() != "calls Bash: curl http://127.0.0.1:1/" || e.Text != "" {
		t.Errorf("Activity = %q, want the tool", e.Whole())
	}
	e := until(t, s, Asks)
	if e.Permission.Tool != "Bash" || e.Permission.Use != "curl http://127.0.0.1:1/" {
		t.Errorf("Asks = %+v", e.Permission)
	}
	e.Permission.Answer(No, "use the mirror")
	if e := until(t, s, Turn); e.Fault != "" || e.Text != "end" || *e.Usage != (Usage{In: 300, Out: 30, Cost: 0.0022500000000000003, Priced: true}) {
		t.Errorf("Turn = %+v, %+v", e, e.Usage)
	}
	s.Finish()
	if e := until(t, s, Ended); e.Ending.Exit != 0 || e.Text != "end" {
		t.Errorf("Ended = %+v", e)
	}
	for _, want := range []string{`"text":"web-4 is yours."`, `"behavior":"deny"`, `"message":"use the mirror"`} {
		if !strings.Contains(heard(), want) {
			t.Errorf("it was told\n%s\nwant %s", heard(), want)
		}
	}
}

// TestClaude_forTask: what people allow for the task, Claude Code does not ask about again.
func TestClaude_forTask(t *testing.T) {
	s, heard := start(t, "claude/permission")
	until(t, s, Asks).Permission.Answer(ForTask, "")
	until(t, s, Turn)
	s.Finish()
	until(t, s, Ended)
	for _, want := range []string{`"behavior":"allow"`, `"updatedInput":{"command":"curl http://127.0.0.1:1/"}`, `"destination":"session"`} {
		if !strings.Contains(heard(), want) {
			t.Errorf("it was told\n%s\nwant %s", heard(), want)
		}
	}
}

func TestClaude_limit(t *testing.T) {
	s, _ := start(t, "claude/limit")
	e := until(t, s, Turn)
	if e.Fault != Limited || e.Until.Unix() != 1794826241 {
		t.Errorf("Turn = %+v, want the limit and its end", e)
	}
	s.End()
	until(t, s, Ended)
}

// TestClaude_told: after its turn it can be told more, in the same session.
func TestClaude_told(t *testing.T) {
	s, heard := start(t, "claude/unreported")
	if e := until(t, s, Turn); e.Fault != "" {
		t.Errorf("Turn = %+v", e)
	}
	if !s.Tell("You have not reported.") {
		t.Error("it cannot be told")
	}
	if e := until(t, s, Turn); *e.Usage != (Usage{In: 200, Out: 20, Cost: 0.0009000000000000001, Priced: true}) {
		t.Errorf("after both turns it has used %+v", e.Usage)
	}
	s.Finish()
	until(t, s, Ended)
	if !strings.Contains(heard(), `"text":"You have not reported."`) {
		t.Errorf("it was told\n%s", heard())
	}
}

func TestCodex_permission(t *testing.T) {
	s, heard := start(t, "codex/permission")
	if e := until(t, s, Started); e.Session == "" {
		t.Errorf("Started = %+v, want the thread", e)
	}
	e := until(t, s, Asks)
	if e.Permission.Tool != "a command" || e.Permission.Use != "/bin/bash -lc 'touch /root/outside'" || e.Permission.Dir != "/src/web.worktrees/slot-1" || e.Permission.Words != "outside" || e.Permission.Vague {
		t.Errorf("Asks = %+v", e.Permission)
	}
	e.Permission.Answer(No, "stay inside")
	for e.Usage == nil || e.Usage.In < 300 {
		if e = until(t, s, Activity); strings.HasPrefix(e.Whole(), "runs ") {
			t.Errorf("it %q, which was refused", e.Whole())
		}
	}
	if *e.Usage != (Usage{In: 300, Out: 30}) {
		t.Errorf("it has used %+v", e.Usage)
	}
	if e := until(t, s, Turn); e.Fault != "" {
		t.Errorf("Turn = %+v", e)
	}
	s.Finish()
	if e := until(t, s, Ended); e.Ending.Exit != 0 || e.Text != "end" {
		t.Errorf("Ended = %+v", e)
	}
	for _, want := range []string{
		`"sandbox":"workspace-write"`, `"BOSSMAN_SOCKET":"/desk/socket"`, `"text":"web-4 is yours."`,
		`"expectedTurnId":"01a1e419-b9fe-76d1-933c-96ca1188f777"`, `"text":"stay inside"`, `"decision":"decline"`,
	} {
		if !strings.Contains(heard(), want) {
			t.Errorf("it was told\n%s\nwant %s", heard(), want)
		}
	}
}

// TestCodex_refused: Codex has the words of a refusal before the refusal, after which its model goes on.
func TestCodex_refused(t *testing.T) {
	s, heard := start(t, "codex/refused")
	until(t, s, Asks).Permission.Answer(No, "stay inside")
	until(t, s, Asks).Permission.Answer(Once, "") // it asks that before it says that it has the words
	until(t, s, Turn)
	s.Finish()
	until(t, s, Ended)
	_, rest, _ := strings.Cut(heard(), `"text":"stay inside"`)
	if yes, no := strings.Index(rest, `"decision":"accept"`), strings.Index(rest, `"decision":"decline"`); yes < 0 || no < yes {
		t.Errorf("it was told\n%s\nwant the words, the second answer, and the first one", heard())
	}
}

// TestCodex_patch: a question about changes of files says which files, and what is changed there;
// Codex has said that before it asks.
func TestCodex_patch(t *testing.T) {
	s, heard := start(t, "codex/patch")
	for _, want := range []Permission{
		{Use: "add \"/tmp/scratch/notes.txt\"\nhello", Rules: []string{"any change of these files"}},
		{
			Use:   "update \"/root/.bashrc\", moved to \"/root/.profile\"\n@@ -1 +1 @@\n-a\n+b\nany change below \"/root\"",
			Rules: []string{"any change of these files", "any change below \"/root\""},
		},
		{Vague: true, Rules: []string{"any change of these files"}}, // it was never announced
	} {
		p := until(t, s, Asks).Permission
		if p.Tool != "a change of files outside its worktree" || p.Use != want.Use || p.Words != "the build needs it" || p.Vague != want.Vague || !slices.Equal(p.Rules, want.Rules) {
			t.Errorf("Asks = %+v, want %+v", p, want)
		}
		p.Answer(Once, "")
	}
	until(t, s, Turn)
	s.Finish()
	until(t, s, Ended)
	if n := strings.Count(heard(), `"decision":"accept"`); n != 3 {
		t.Errorf("it was told\n%s\nwant three answers", heard())
	}
}

// TestCodexCommand: a question about a command says what it is about, also if that is a host or what
// is typed into a program; otherwise it is known that it does not.
func TestCodexCommand(t *testing.T) {
	for params, want := range map[string]Permission{
		`{"command":"ls","cwd":"/web"}`:                                                            {Tool: "a command", Use: "ls"},
		`{"command":"ls","cwd":"/","reason":"look"}`:                                               {Tool: "a command", Use: "ls", Dir: "/", Words: "look"},
		`{"command":"make","cwd":"/web","additionalPermissions":{"network":{"enabled":true}}}`:     {Tool: "a command", Use: "make\nwith " + `{"network":{"enabled":true}}`},
		`{"command":"ls","cwd":{"path":"/"}}`:                                                      {Tool: "a command", Use: "ls", Vague: true}, // it cannot be read
		`{"command":null,"reason":"the build needs it"}`:                                           {Tool: "a command", Words: "the build needs it", Vague: true},
		`{"kind":"writeStdin","command":"sh","cwd":"/web"}`:                                        {Tool: "input for a program that it has started", Use: "sh", Vague: true},
		`{"networkApprovalContext":{"host":"evil.example","protocol":"https"},"command":"curl x"}`: {Tool: "the network", Use: "https evil.example\ncurl x"},
	} {
		if got := codexCommand([]byte(params), "/web"); got.Tool != want.Tool || got.Use != want.Use || got.Dir != want.Dir || got.Words != want.Words || got.Vague != want.Vague {
			t.Errorf("%s: %+v, want %+v", params, got, want)
		}
	}
}

// TestCodex_trust: Codex is told whether it may use the settings of the repository, by the directory
// of the worktree and that of the repository, also where a link leads there. It would note the
// repository as trusted otherwise.
func TestCodex_trust(t *testing.T) {
	root := filepath.Join(t.TempDir(), `we"b`)
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "slot"), 0o700), os.Symlink(root, link)); err != nil {
		t.Fatal(err)
	}
	for project, level := range map[bool]string{false: "untrusted", true: "trusted"} {
		var args []string
		a, err := Codex(CodexOptions{Path: os.Args[0], Join: []string{"bossman"}, Project: project})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Start(Job{Dir: filepath.Join(link, "slot"), Root: link, Mind: func(cmd *exec.Cmd) (*proc.Minded, error) {
			args = cmd.Args[1:]
			return nil, errors.New("not started")
		}})
		if err == nil || len(args) != 3 || args[0] != "-c" || args[2] != "app-server" {
			t.Fatalf("%v, with the arguments %q", err, args)
		}
		for _, dir := range []string{link, link + "/slot", root, root + "/slot"} {
			if want := fmt.Sprintf(`%q={trust_level=%q}`, dir, level); !strings.Contains(args[1], want) {
				t.Errorf("%s, want %s", args[1], want)
			}
		}
	}
}

// TestCodex_complaint: what it writes to a terminal when it cannot work is kept as text.
func TestCodex_complaint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codex")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nprintf '\\033[31mno key\\033[0m\\n' >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := Codex(CodexOptions{Path: path, Join: []string{"bossman"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Start(Job{Dir: t.TempDir(), Env: os.Environ(), Mind: func(cmd *exec.Cmd) (*proc.Minded, error) {
		return proc.Mind(cmd, []string{os.Args[0], "minder"}, "test", time.Second)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if e := until(t, s, Ended); e.Text != "no key" || e.Ending.Exit != 1 {
		t.Errorf("Ended = %+v", e)
	}
}

func TestCodex_limit(t *testing.T) {
	s, _ := start(t, "codex/limit")
	if e := until(t, s, Turn); e.Fault != Limited || time.Since(e.Until) > 10*365*24*time.Hour {
		t.Errorf("Turn = %+v, want the limit and its end", e)
	}
	s.End()
	until(t, s, Ended)
}

// TestSession_resumed: an agent goes on with a session that it has.
func TestSession_resumed(t *testing.T) {
	for name, tc := range map[string]struct{ session, want string }{
		"claude/unreported": {"64531d7d-e09a-4894-b8f9-c65d670a3732", "--resume 64531d7d-e09a-4894-b8f9-c65d670a3732"},
		"claude/limit":      {"--dangerously-skip-permissions", "--session-id "},
		"codex/permission":  {"01a1e419-b93a-7141-b2a5-425b093aee8e", `"threadId":"01a1e419-b93a-7141-b2a5-425b093aee8e"`},
		"acp/gemini":        {"971a5a3b-e0ef-4e4e-b08e-93a33397d1a1", `"method":"session/load"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, heard := resume(t, name, tc.session)
			if e := until(t, s, Started); e.Session == "" {
				t.Errorf("Started = %+v, want the session", e)
			}
			s.End()
			until(t, s, Ended)
			if !strings.Contains(heard(), tc.want) || strings.Contains(heard(), `"thread/start"`) || strings.Contains(heard(), `"session/new"`) {
				t.Errorf("it was told\n%s\nwant %s", heard(), tc.want)
			}
		})
	}
}

// TestClaude_forgotten: one that has a session no more has not failed at the task.
func TestClaude_forgotten(t *testing.T) {
	s, _ := resume(t, "claude/forgotten", "64531d7d-e09a-4894-b8f9-c65d670a3739")
	if e := until(t, s, Turn); e.Fault != Unusable || !strings.Contains(e.Text, "No conversation found") {
		t.Errorf("Turn = %+v, want why it cannot work", e)
	}
	s.End()
	until(t, s, Ended)
}

// TestCommand_tail: the last event has the last lines of the output.
func TestCommand_tail(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := Command([]string{"sh", "-c", "seq 100; exit 7"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Start(Job{Dir: t.TempDir(), Env: os.Environ(), Mind: func(cmd *exec.Cmd) (*proc.Minded, error) {
		return proc.Mind(cmd, []string{self, "minder"}, "test", time.Second)
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := until(t, s, Ended)
	if lines := strings.Split(e.Text, "\n"); e.Ending.Exit != 7 || len(lines) != tailLines || lines[tailLines-1] != "100" {
		t.Errorf("Ended = %+v", e)
	}
}

// TestCalls: what an agent tells the board is shown in its words.
func TestCalls(t *testing.T) {
	for _, c := range []struct {
		tool  string
		input any
		want  string
	}{
		{"Bash", map[string]any{"command": "make"}, "calls Bash: make"},
		{"mcp__bossman__report_progress", map[string]any{"claim": "web-1/1.abc", "note": "half way"}, "notes: half way"},
		{"report_task_done", map[string]any{"claim": "web-1/1.abc", "summary": "all of it"}, "reports done: all of it"},
		{"report_task_failed", map[string]any{"claim": "web-1/1.abc", "reason": "too hard"}, "reports failed: too hard"},
		{"ask_question", map[string]any{"claim": "web-1/1.abc", "question": "Which?"}, "asks: Which?"},
		{"report_progress", map[string]any{"claim": "web-1/1.abc"}, `calls report_progress: {"claim":"web-1/1.abc"}`},
		{"mcp__other__add", map[string]any{"note": "a"}, `calls mcp__other__add: {"note":"a"}`},
		{"get_task", map[string]any{}, "calls get_task"},
		{"a\nb", 5, "calls a b"},
		{"delete", map[string]any{"id": jsontext.Value("1099511627776000001")}, `calls delete: {"id":1099511627776000001}`},
	} {
		input, err := json.Marshal(c.input)
		if err != nil {
			t.Fatal(err)
		}
		if got := calls(c.tool, input); got != c.want {
			t.Errorf("calls(%q, %v) = %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

// TestWithoutShell: a command is shown without the shell around it only if nothing else is left out.
func TestWithoutShell(t *testing.T) {
	for _, c := range []struct {
		command string
		actions []codexAction
		want    string
	}{
		{"/bin/bash -lc 'make test'", []codexAction{{"make test"}}, "make test"},
		{`/bin/bash -lc "echo 'a' >> b"`, []codexAction{{"echo 'a' >> b"}}, "echo 'a' >> b"},
		{"/bin/zsh -lc ls", []codexAction{{"ls"}}, "ls"},
		{"/bin/bash -lc 'cd x && cat y'", []codexAction{{"cat y"}}, "/bin/bash -lc 'cd x && cat y'"},
		{"/bin/bash -lc 'cat x; cat y'", []codexAction{{"cat x"}, {"cat y"}}, "/bin/bash -lc 'cat x; cat y'"},
		{"make", nil, "make"},
		{"make", []codexAction{{""}}, "make"},
	} {
		if got := withoutShell(c.command, c.actions); got != c.want {
			t.Errorf("withoutShell(%q, %v) = %q, want %q", c.command, c.actions, got, c.want)
		}
	}
}

// TestStream_calling: while a tool runs, its agent says so.
func TestStream_calling(t *testing.T) {
	for _, name := range []string{"claude/permission", "codex/permission", "acp/gemini", "acp/opencode", "acp/claude-acp", "acp/codex-acp"} {
		t.Run(name, func(t *testing.T) {
			s, _ := start(t, name)
			ask := until(t, s, Asks)
			if !ask.Calling {
				t.Error("when it asks about a call, none is under way")
			}
			ask.Permission.Answer(No, "only on Fridays")
			called, e := false, Event{}
			for e = range s.Events() {
				if e.Kind == Turn {
					s.Tell("You have not reported.")
				}
				called = called || e.Calling && strings.Contains(e.Whole(), "done")
				if e.Kind == Activity && e.Text == "end" {
					break
				}
			}
			if e.Kind != Activity || e.Calling {
				t.Errorf("after the result of its call it said %+v", e)
			}
			if !called {
				t.Error("when it calls a tool, none is under way")
			}
		})
	}
}
