package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "acp" {
		if err := playAgent(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// What the agent asks to be allowed.
const (
	harmlessCommand = "go test ./..."
	riskyCommand    = "git push --force origin HEAD:main"
)

// playAgent is an agent that speaks the Agent Client Protocol. In its first turn it asks for two permissions, in its
// second it reports. What it is told, it writes into a file.
func playAgent(bossman, file string) error {
	heard, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer heard.Close()
	type message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Prompt []struct{ Text string } `json:"prompt"`
		} `json:"params"`
		Result struct {
			Outcome struct{ OptionID string } `json:"outcome"`
		} `json:"result"`
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	read := func() (m message, err error) {
		if !lines.Scan() {
			return m, fmt.Errorf("the input has ended: %w", lines.Err())
		}
		return m, json.Unmarshal(lines.Bytes(), &m)
	}
	write := func(v map[string]any) {
		v["jsonrpc"] = "2.0"
		b, _ := json.Marshal(v)
		_, _ = os.Stdout.Write(append(b, '\n'))
	}
	permit := func(id int, command string) error {
		write(map[string]any{"id": id, "method": "session/request_permission", "params": map[string]any{
			"sessionId": "one",
			"toolCall":  map[string]any{"toolCallId": fmt.Sprint("call", id), "kind": "execute", "title": "a command", "rawInput": map[string]any{"command": command}},
			"options":   []map[string]any{{"optionId": "allow", "name": "Allow", "kind": "allow_once"}, {"optionId": "reject", "name": "Reject", "kind": "reject_once"}},
		}})
		m, err := read()
		fmt.Fprintf(heard, "%s: %s\n", command, m.Result.Outcome.OptionID)
		return err
	}
	for turn := 0; ; {
		m, err := read()
		if err != nil {
			return nil // its work is over
		}
		result := map[string]any{}
		switch m.Method {
		case "initialize":
			result["protocolVersion"], result["agentCapabilities"] = 1, map[string]any{}
		case "session/new":
			result["sessionId"] = "one"
		case "session/prompt":
			if turn++; turn == 1 {
				if err := permit(1, harmlessCommand); err != nil {
					return err
				}
				if err := permit(2, riskyCommand); err != nil {
					return err
				}
			} else {
				fmt.Fprintf(heard, "told: %s\n", m.Params.Prompt[0].Text)
				if out, err := exec.Command(bossman, "done", "--no-changes", "--summary", "tested, not pushed").CombinedOutput(); err != nil {
					return fmt.Errorf("bossman done: %w\n%s", err, out)
				}
			}
			result["stopReason"] = "end_turn"
		}
		write(map[string]any{"id": m.ID, "result": result})
	}
}

// permission: an agent of bossman work asks for two permissions, and a person answers from a phone: the harmless one in
// the list, the risky one beside all of its command. The agent is told both verdicts.
func (s *teamSite) permission(x *tab) {
	t := x.t
	id := x.newTask(s.URL(), "shop", "Push what is tested")
	if err := windows[2].set(x.ctx); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows[0].set(x.ctx) }()
	x.show(s.URL() + "/inbox?project=shop")
	l := s.Laptop(t, s.person, "shop")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "heard")
	cmd := harness.Command(t.Context(), l.Home, s.program, "work", "--max-tasks", "1", "--agent", "acp", "--", self, "acp", s.program, file)
	cmd.Dir = l.Dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		if t.Failed() {
			t.Logf("bossman work says\n%s", output.String())
		}
	}()

	card := func(command string) string { // waits for a question, and returns its id
		find := fmt.Sprintf("[...document.querySelectorAll('#asks .ask')].find(a => a.querySelector('.cmd')?.innerText === %q)", command)
		x.soon(find, 20*time.Second)
		x.soon(isLive, 5*time.Second)
		return x.text(find + ".id")
	}
	q := card(harmlessCommand)
	x.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`#%s button[value="yes"]`, q))), chromedp.WaitVisible(chromedp.ID("notice")))

	q = card(riskyCommand)
	if x.is(fmt.Sprintf("document.querySelector('#%s button')", q)) {
		t.Error("the list has a button for a risky permission")
	}
	x.do(chromedp.Click(chromedp.CSS(fmt.Sprintf("#%s .btn.go", q))), chromedp.WaitVisible(chromedp.CSS(`button[value="no"]`)))
	if got := x.text("document.querySelector('#main').innerText"); !strings.Contains(got, riskyCommand) || !strings.Contains(got, "shop.worktrees") || !strings.Contains(got, "changes what others see") {
		t.Errorf("the page lacks the command, its directory or its risk:\n%s", got)
	}
	if got := x.text("document.documentElement.scrollWidth"); got != "390" {
		t.Errorf("the page is %s wide", got)
	}
	begun := time.Now()
	x.do(chromedp.SendKeys(chromedp.CSS("input[name=text]"), "Leave main alone"), chromedp.Click(chromedp.CSS(`button[value="no"]`)), chromedp.WaitVisible(chromedp.ID("notice")))
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("bossman work: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("bossman work goes on")
	}
	t.Logf("bossman work had the verdict and had ended %v after the click", time.Since(begun))
	heard, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{harmlessCommand + ": allow\n", riskyCommand + ": reject\n", "told: A person has answered: Leave main alone\n"} {
		if !strings.Contains(string(heard), want) {
			t.Errorf("the agent was not told %q:\n%s", want, heard)
		}
	}
	x.show(s.URL() + "/task/" + id.String())
	x.soon("document.querySelector('.task-top .state')?.innerText === 'Done'", 5*time.Second)
}
