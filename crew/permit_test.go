package crew

import (
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/permission"
)

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
// not in one with another key or in another clone, nor if it is not shown to people as a permission. A
// yes holds once.
func TestAnswerTo(t *testing.T) {
	task := board.ID{Project: "web", No: 1}
	claim := func(attempt int, nonce string) board.Handle {
		return board.Handle{Task: task, Attempt: attempt, Nonce: nonce}
	}
	now, between, before := claim(3, "ccccc"), claim(2, "bbbbb"), claim(1, "aaaaa")
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 10, minute, 0, 0, time.UTC) }
	const early, late, meanwhile = 5, 15, 25 // the first attempt ends at 10, and the second one lasts from 20 to 30
	text := permission.Text(permission.Permission{Agent: "claude", Tool: "Bash", Use: "./deploy.sh"})
	all := permission.Options(false)
	for _, c := range []struct {
		name         string
		claim        board.Handle
		owner, clone string
		people       bool
		options      []string
		answer       string
		minute       int
		second       bool // there was an attempt between the two
		want         bool
	}{
		{"ours, answered when it was over", before, "p-1", "here", true, all, permission.Yes, late, false, true},
		{"ours, used already", before, "p-1", "here", true, all, permission.Yes, early, false, false},
		{"ours, for the attempt after it", before, "p-1", "here", true, all, permission.Yes, late, true, false},
		{"ours, while another attempt was under way", before, "p-1", "here", true, all, permission.Yes, meanwhile, true, false},
		{"ours, when another attempt ended", before, "p-1", "here", true, all, permission.Yes, 30, true, false},
		{"ours, in a person's own words", before, "p-1", "here", true, all, "Yes ", meanwhile, true, false},
		{"ours, after another attempt", before, "p-1", "here", true, all, permission.Yes, 35, true, true},
		{"ours, for the task", before, "p-1", "here", true, all, permission.YesForTask, early, true, true},
		{"ours, refused", before, "p-1", "here", true, all, permission.No, early, true, true},
		{"ours, with answers of its own", before, "p-1", "here", true, []string{permission.YesForTask, permission.No}, permission.YesForTask, late, false, false},
		{"this attempt's, for the task", now, "p-2", "here", true, all, permission.YesForTask, early, false, true},
		{"this attempt's, once", now, "p-2", "here", true, all, permission.Yes, early, false, false},
		{"another key's", before, board.AnotherOwner, "here", true, all, permission.YesForTask, late, false, false},
		{"another key's, by its name", before, "key:eve/p-1", "here", true, all, permission.YesForTask, late, false, false},
		{"another clone's", before, "p-1", "there", true, all, permission.YesForTask, late, false, false},
		{"not for people alone", before, "p-1", "here", false, all, permission.YesForTask, late, false, false},
	} {
		key, _, _ := strings.Cut(c.owner, "/")
		if key == c.owner {
			key = "local"
		}
		d := board.Dossier{
			Attempts: []board.Attempt{{Handle: c.claim, Worker: board.WorkerID{Principal: key}, Owner: c.owner, Where: board.Where{Clone: c.clone}, GrantedAt: at(0), EndedAt: at(10)}},
			Questions: []board.Question{{
				Claim: c.claim, Text: text, Options: c.options, HumanOnly: c.people, State: board.QuestionAnswered, Answer: c.answer, AnsweredAs: board.ByPerson, AnsweredAt: at(c.minute),
			}},
		}
		if c.second {
			d.Attempts = append(d.Attempts, board.Attempt{Handle: between, GrantedAt: at(20), EndedAt: at(30)})
		}
		if q, ok := answerTo(text, d, board.Claim{Handle: now, Worker: board.WorkerID{Principal: "local"}}, "here"); ok != c.want || ok && q.Answer != c.answer {
			t.Errorf("%s: %q, %t; want %t", c.name, q.Answer, ok, c.want)
		}
	}
}

// TestAnswerTo_underWay: a yes that comes while a later attempt is under way holds in that one, and in none after it.
func TestAnswerTo_underWay(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 10, minute, 0, 0, time.UTC) }
	attempt := func(n, from, to int) board.Attempt {
		h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: n, Nonce: strings.Repeat(string(rune('a'+n)), 5)}
		a := board.Attempt{Handle: h, Worker: board.WorkerID{Principal: "local"}, Owner: "p-1", Where: board.Where{Clone: "here"}, GrantedAt: at(from)}
		if to > 0 {
			a.EndedAt = at(to)
		}
		return a
	}
	text := permission.Text(permission.Permission{Agent: "claude", Tool: "Bash", Use: "./deploy.sh"})
	for _, c := range []struct {
		name     string
		attempts []board.Attempt
		want     bool
	}{
		{"in the attempt that was under way", []board.Attempt{attempt(1, 0, 10), attempt(2, 20, 0)}, true},
		{"in the attempt after it", []board.Attempt{attempt(1, 0, 10), attempt(2, 20, 30), attempt(3, 40, 0)}, false},
		{"in the next one, if none was", []board.Attempt{attempt(1, 0, 10), attempt(2, 12, 15), attempt(3, 40, 0)}, true},
		{"in the one after that", []board.Attempt{attempt(1, 0, 10), attempt(2, 12, 15), attempt(3, 40, 50), attempt(4, 60, 0)}, false},
		{"if the one that asked was under way", []board.Attempt{attempt(1, 0, 30), attempt(2, 40, 0)}, false},
	} {
		d := board.Dossier{Attempts: c.attempts, Questions: []board.Question{{
			Claim: c.attempts[0].Handle, Text: text, Options: permission.Options(false), HumanOnly: true,
			State: board.QuestionAnswered, Answer: permission.Yes, AnsweredAs: board.ByPerson, AnsweredAt: at(25),
		}}}
		now := c.attempts[len(c.attempts)-1].Handle
		if _, ok := answerTo(text, d, board.Claim{Handle: now, Worker: board.WorkerID{Principal: "local"}}, "here"); ok != c.want {
			t.Errorf("%s: %t, want %t", c.name, ok, c.want)
		}
	}
}

// TestSpend: a yes is used once in an attempt, also if a second job goes on with that.
func TestSpend(t *testing.T) {
	once, always := board.Question{ID: 1, Answer: permission.Yes}, board.Question{ID: 2, Answer: permission.YesForTask}
	j := &job{h: &board.Handout{}}
	if !j.spend(once) || j.spend(once) || !j.spend(always) || !j.spend(always) {
		t.Error("a yes is not used once, or one for the task only once")
	}
	j = &job{h: &board.Handout{Again: true}}
	if j.spend(once) || !j.spend(always) {
		t.Error("a second job of the attempt uses the yes again, or none for the task")
	}
}
