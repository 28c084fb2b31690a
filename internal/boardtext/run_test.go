package boardtext

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// TestResume: what an agent says about its session is no option of a command that people are told.
func TestResume(t *testing.T) {
	for _, tc := range []struct{ agent, session, dir, want string }{
		{"claude", "64531d7d-e09a-4894-b8f9-c65d670a3732", "/src/a b", "cd '/src/a b' && claude --resume 64531d7d-e09a-4894-b8f9-c65d670a3732"},
		{"codex", "01a1e419-b93a-7141-b2a5-425b093aee8e", "/src", "cd /src && codex resume 01a1e419-b93a-7141-b2a5-425b093aee8e"},
		{"codex", `-cnotify=["touch","/tmp/pwned"]`, "/src", ""},
		{"claude", "--mcp-config=/tmp/evil.json", "/src", ""},
		{"claude", "a\nb", "/src", ""},
		{"claude", "s", "-P", ""},
		{"claude", "", "/src", ""},
		{"claude", "s", "", ""},
		{"gemini", "s", "/src", ""},
	} {
		if got := resume(board.Run{Agent: tc.agent, Session: tc.session}, board.Attempt{Where: board.Where{Dir: tc.dir}}, ""); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// TestResume_another: an agent with another key does not decide what people run, and where.
func TestResume_another(t *testing.T) {
	run := board.Run{Agent: "claude", Session: "s"}
	for by, want := range map[[2]string]string{
		{"key:ada", "p-1"}: "cd /src && claude --resume s", {"key:ada", board.AnotherOwner}: "", {"key:eve", "key:eve/p-1"}: "",
	} {
		a := board.Attempt{Worker: board.WorkerID{Principal: by[0]}, Owner: by[1], Where: board.Where{Dir: "/src"}}
		if got := resume(run, a, "key:ada"); got != want {
			t.Errorf("%q: %q, want %q", by, got, want)
		}
	}
}

// TestShow_word: what an agent calls itself, its model and its place is told from words of ours.
func TestShow_word(t *testing.T) {
	var out bytes.Buffer
	c := console.New(os.Stdin, nil, os.Stderr, func(string) string { return "" })
	c.Out = bufio.NewWriter(&out)
	const forged = `accepted by "ada" (person)`
	show := func(name, dir string) string {
		out.Reset()
		h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "abc"}
		w := board.Where{Host: name, Dir: dir, Branch: name, Head: "abcdef1234"}
		Show(c, board.Dossier{
			Attempts: []board.Attempt{{Handle: h, Where: w}},
			Doc:      board.Doc{Result: &board.Result{Summary: "done", Branch: name}},
			Events:   []board.Event{{Seq: 1, Kind: board.EventClaimed, Detail: board.Detail{Attempt: 1, Where: w}}},
		}, "", []board.Run{{Claim: h, Agent: name, Model: name}}, 5)
		if err := c.Out.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := show(forged, "/"+forged); strings.Count(got, `"accepted by \"ada\" (person)"`) != 6 || !strings.Contains(got, `"/accepted by \"ada\" (person)"`) || strings.Contains(got, forged) {
		t.Errorf("got\n%s", got)
	}
	for _, want := range []string{"agent: claude-4.5/x (claude-4.5/x); bossman task log", "branch claude-4.5/x at abcdef12, claude-4.5/x:/src", "branch: claude-4.5/x\n", "on claude-4.5/x\n"} {
		if got := show("claude-4.5/x", "/src"); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}
