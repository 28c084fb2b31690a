package permission

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// TestText: a command cannot have a line that looks like ours.
func TestText(t *testing.T) {
	got := Text(Permission{Agent: "claude", Tool: "Bash", Use: "true\nFor this task that is: Bash(ls:*)\n", Rules: []string{"Bash(true:*)", "a\nb"}})
	want := "May claude use Bash?\n  | true\n  | For this task that is: Bash(ls:*)\nFor this task that is:\n  | Bash(true:*)\n  | a b"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestText_words: what an agent says about a command is marked as its words, and cannot look like the directory in which it runs.
func TestText_words(t *testing.T) {
	got := Text(Permission{Agent: "codex", Tool: "a command", Use: "rm -rf ./*\nIn the directory:\n  | /a", Dir: "/home\n/b", Words: "in \"/c\"\nIn the directory:\n  | /d\n"})
	want := "May codex use a command?\n  | rm -rf ./*\n  | In the directory:\n  |   | /a\nIn the directory:\n  | /home /b\nThe agent says about it:\n  | in \"/c\"\n  | In the directory:\n  |   | /d"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p, ok := In(&board.Question{Text: got, Options: Options(false), HumanOnly: true})
	if !ok || p.Dir != "/home /b" || p.Words != "in \"/c\"\nIn the directory:\n  | /d" {
		t.Errorf("it is read as %+v, %t", p, ok)
	}
}

// TestSame: what would be done is compared, and its directory, and what would be allowed for the task.
func TestSame(t *testing.T) {
	first := Permission{Agent: "codex", Tool: "a command", Use: "make", Words: "for the release\nsoon", Rules: []string{"x"}}
	for want, change := range map[bool][]func(*Permission){
		true: {func(p *Permission) { p.Words = "" }, func(p *Permission) { p.Words = "For this task that is:\n  | y" }},
		false: {
			func(p *Permission) { p.Use = "make\nThe agent says about it:\n  | x" },
			func(p *Permission) { p.Use = "make x" },
			func(p *Permission) { p.Dir = "/" },
			func(p *Permission) { p.Rules = nil },
			func(p *Permission) { p.Tool = "Bash" },
		},
	} {
		for _, f := range change {
			second := first
			if f(&second); Same(Text(first), Text(second)) != want {
				t.Errorf("%+v and %+v are the same: %t, want %t", first, second, !want, want)
			}
		}
	}
}

// TestText_lines: neither can it with what other readers take for the end of a line, nor in the
// name of a tool.
func TestText_lines(t *testing.T) {
	for _, end := range []string{"\r", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029"} {
		const ours = "For this task that is: nothing"
		got := Text(Permission{Agent: "acp", Tool: "bash?" + end + ours, Use: "true" + end + ours, Rules: []string{"a" + end + ours}})
		for _, line := range visible.Lines(got) {
			if strings.HasPrefix(line, ours) {
				t.Errorf("with %q, a line of ours is the agent's:\n%q", end, got)
			}
		}
	}
}

// TestText_gap: a command cannot hide its end behind blanks.
func TestText_gap(t *testing.T) {
	for _, blanks := range []string{strings.Repeat(" ", 300), strings.Repeat("\t", 20), strings.Repeat("\u00a0\u3000", 20)} {
		got := Text(Permission{Agent: "claude", Tool: "Bash", Use: "make\n\t\ttest #" + blanks + "more"})
		want := fmt.Sprintf("May claude use Bash?\n  | make\n  | \t\ttest # <%d blanks> more", utf8.RuneCountInString(blanks))
		if got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	}
}

// TestText_vague: if it is not known what would be done, the question says so, and nothing is
// said about what would be allowed for the task.
func TestText_vague(t *testing.T) {
	got := Text(Permission{Agent: "codex", Tool: "a change of files", Vague: true, Rules: []string{"any change of these files"}})
	want := "May codex use a change of files?\nWhat exactly is not known: it does not say. A yes holds only this once."
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// FuzzText: whatever an agent wants, people are shown it as a permission.
func FuzzText(f *testing.F) {
	f.Add("my agent.py", "bash?", "rm -rf *build*\n- | sh", "", "to clean up", "Bash(ls:*)", false)
	f.Add("", "", "", "", "", "", true)
	f.Add("a\u2028b", "May x use y?", "It reviews web-1.", "/a\nb", "In the directory:\n  | /c", "For this task that is:", false)
	f.Fuzz(func(t *testing.T, agent, tool, use, dir, words, rule string, vague bool) {
		p := Permission{Agent: agent, Tool: tool, Use: use, Dir: dir, Words: words, Vague: vague}
		if rule != "" {
			p.Rules = []string{rule}
		}
		text := Text(p)
		got, ok := In(&board.Question{Text: text, Options: Options(vague), HumanOnly: true})
		if !ok || got.Vague != vague || (len(got.Rules) > 0) != (rule != "" && !vague) {
			t.Errorf("%q is read as %+v, %t", text, got, ok)
		}
		p.Words = ""
		plain := Text(p)
		without, _ := In(&board.Question{Text: plain, Options: Options(vague), HumanOnly: true})
		if !Same(text, plain) || strings.Contains(plain, "\n"+says) || without.Dir != got.Dir || without.Use != got.Use {
			t.Errorf("%q says something else than %q, not only less about it", text, plain)
		}
	})
}
