package crew

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/visible"
)

// TestPermitText: a command cannot have a line that looks like ours.
func TestPermitText(t *testing.T) {
	got := permitText("claude", agent.Permission{Tool: "Bash", Use: "true\nFor this task that is: Bash(ls:*)\n", Rules: []string{"Bash(true:*)", "a\nb"}})
	want := "May claude use Bash?\n  | true\n  | For this task that is: Bash(ls:*)\nFor this task that is:\n  | Bash(true:*)\n  | a b"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPermitText_lines: neither can it with what other readers take for the end of a line, nor in the
// name of a tool.
func TestPermitText_lines(t *testing.T) {
	for _, end := range []string{"\r", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029"} {
		const ours = "For this task that is: nothing"
		got := permitText("acp", agent.Permission{Tool: "bash?" + end + ours, Use: "true" + end + ours, Rules: []string{"a" + end + ours}})
		for _, line := range visible.Lines(got) {
			if strings.HasPrefix(line, ours) {
				t.Errorf("with %q, a line of ours is the agent's:\n%q", end, got)
			}
		}
	}
}

// TestPermitText_gap: a command cannot hide its end behind blanks.
func TestPermitText_gap(t *testing.T) {
	for _, blanks := range []string{strings.Repeat(" ", 300), strings.Repeat("\t", 20), strings.Repeat("\u00a0\u3000", 20)} {
		got := permitText("claude", agent.Permission{Tool: "Bash", Use: "make\n\t\ttest #" + blanks + "more"})
		want := fmt.Sprintf("May claude use Bash?\n  | make\n  | \t\ttest # <%d blanks> more", utf8.RuneCountInString(blanks))
		if got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	}
}

// TestPermitText_vague: if it is not known what would be done, the question says so, and nothing is
// said about what would be allowed for the task.
func TestPermitText_vague(t *testing.T) {
	got := permitText("codex", agent.Permission{Tool: "a change of files", Vague: true, Rules: []string{"any change of these files"}})
	want := "May codex use a change of files?\nWhat exactly is not known: it does not say. A yes holds only this once."
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDecide_vague: what is not known is allowed once, whatever people answer.
func TestDecide_vague(t *testing.T) {
	for vague, want := range map[bool]agent.Decision{true: agent.Once, false: agent.ForTask} {
		var got agent.Decision
		decide(agent.Permission{Vague: vague, Answer: func(d agent.Decision, _ string) { got = d }}, "Yes, for this task ")
		if got != want {
			t.Errorf("vague %t: %s, want %s", vague, got, want)
		}
	}
}

// TestAnswerTo: an answer of a person holds for the same question in an earlier attempt of ours, and
// not in one with another key or in another clone, nor if it was not for people alone.
func TestAnswerTo(t *testing.T) {
	task := board.ID{Project: "web", No: 1}
	now, before := board.Handle{Task: task, Attempt: 2, Nonce: "bbbbb"}, board.Handle{Task: task, Attempt: 1, Nonce: "aaaaa"}
	for _, c := range []struct {
		name         string
		claim        board.Handle
		owner, clone string
		people       bool
		answer       string
		want         bool
	}{
		{"ours", before, "p-1", "here", true, yes, true},
		{"this attempt's, for the task", now, "p-2", "here", true, yesForTask, true},
		{"this attempt's, once", now, "p-2", "here", true, yes, false},
		{"another key's", before, board.AnotherOwner, "here", true, yesForTask, false},
		{"another key's, by its name", before, "key:eve/p-1", "here", true, yesForTask, false},
		{"another clone's", before, "p-1", "there", true, yesForTask, false},
		{"not for people alone", before, "p-1", "here", false, yesForTask, false},
	} {
		key, _, _ := strings.Cut(c.owner, "/")
		if key == c.owner {
			key = "local"
		}
		d := board.Dossier{
			Attempts: []board.Attempt{{Handle: c.claim, Worker: board.WorkerID{Principal: key}, Owner: c.owner, Where: board.Where{Clone: c.clone}}},
			Questions: []board.Question{{
				Claim: c.claim, Text: "May it?", HumanOnly: c.people, State: board.QuestionAnswered, Answer: c.answer, AnsweredAs: board.ByPerson,
			}},
		}
		if answer, ok := answerTo("May it?", d, board.Claim{Handle: now, Worker: board.WorkerID{Principal: "local"}}, "here"); ok != c.want || ok && answer != c.answer {
			t.Errorf("%s: %q, %t; want %t", c.name, answer, ok, c.want)
		}
	}
}
