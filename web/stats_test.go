package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

func TestStats_day(t *testing.T) {
	now := time.Date(2026, 11, 17, 14, 30, 0, 0, time.UTC)
	s := newStats()
	id, seq := board.ID{Project: "shop", No: 1}, int64(0)
	add := func(ago time.Duration, kind board.Kind, from, to board.Status) {
		seq++
		s.add(board.Event{Task: id, Seq: seq, At: now.Add(-ago), Kind: kind, From: from, To: to, Detail: board.Detail{Worker: "otter-abc", Where: board.Where{Client: "claude-code"}}})
	}
	add(30*time.Hour, board.EventDone, board.InProgress, board.Done) // too old
	add(5*time.Hour, board.EventCreated, "", board.Pending)
	add(4*time.Hour, board.EventClaimed, board.Pending, board.InProgress)
	add(4*time.Hour, board.EventFailed, board.InProgress, board.Pending)
	add(3*time.Hour, board.EventClaimed, board.Pending, board.InProgress)
	add(10*time.Minute, board.EventDone, board.InProgress, board.Done)
	d := s.day([]string{"shop", "none"}, 7, now)
	if sum(d.Done) != 1 || d.Done[hours-1] != 1 || sum(d.Failed) != 1 || d.Failed[hours-5] != 1 {
		t.Errorf("day = %+v", d)
	}
	// Seven are pending now. The task came five hours ago and was taken three hours ago.
	if d.Pending[hours-1] != 7 || d.Pending[hours-5] != 8 || d.Pending[hours-7] != 7 {
		t.Errorf("Pending = %v", d.Pending)
	}
	if len(d.Latest) != 1 || d.Workers["otter-abc"].Client != "claude-code" {
		t.Errorf("Latest = %v, Workers = %v", d.Latest, d.Workers)
	}
	if other := s.day([]string{"api"}, 0, now); sum(other.Done) != 0 || len(other.Workers) != 0 {
		t.Errorf("the day of another project = %+v", other)
	}
}

// TestStats_twice: an event that comes both from the past and live counts once.
func TestStats_twice(t *testing.T) {
	s := newTestSite(t, false)
	now := time.Now()
	e := board.Event{Task: board.ID{Project: "shop", No: 1}, Seq: 3, At: now, Kind: board.EventDone, From: board.InProgress, To: board.Done}
	s.stats.add(e)
	s.stats.add(e)
	if d := s.stats.day([]string{"shop"}, 0, now); sum(d.Done) != 1 {
		t.Errorf("the event was counted %d times", sum(d.Done))
	}
}

func TestDoing_words(t *testing.T) {
	for entry, want := range map[string]string{
		"":                                      " / ",
		"calls Bash: npm test":                  "Running / npm test",
		"calls Edit: a.go":                      "Editing / a.go",
		"calls Read: a.go":                      "Reading / a.go",
		"calls Grep: x":                         "Searching / x",
		"calls mcp__x__y: {\"a\":1}":            "Calling / mcp__x__y {\"a\":1}",
		"The rounding is wrong.":                "Thinking / The rounding is wrong.",
		"asks for permission to use Bash: rm x": "Asking / Bash: rm x",
		"| calls Bash: npm test":                "Thinking / calls Bash: npm test",
		"| may use Bash":                        "Thinking / may use Bash",
		"may use Bash":                          "Allowed / Bash",
		"may not use Bash: ask first":           "Refused / Bash: ask first",
		"runs npm test":                         "Running / npm test",
	} {
		word, on := doing{Entry: entry}.words()
		if got := word + " / " + on; got != want {
			t.Errorf("words of %q = %q, want %q", entry, got, want)
		}
	}
}

func TestRunActivity_take(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	r := &runActivity{}
	r.take("no time\n" + now.Add(-time.Hour).Format(time.RFC3339) + " calls Bash: old\n")
	r.take(now.Add(-30*time.Second).Format(time.RFC3339) + " calls Bash: new\u202e\n  more of it\n" + now.Format(time.RFC3339) + " last\n")
	if r.entry != "last" || !r.at.Equal(now) || len(r.marks) != 2 {
		t.Errorf("entry %q at %v, %d marks", r.entry, r.at, len(r.marks))
	}
	bars := doing{Marks: r.marks}.bars(now)
	if bars[pulseBars-1] != 1 || bars[pulseBars-2] != 1 {
		t.Errorf("bars = %v", bars)
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		number(0): "0", number(999): "999", number(1000): "1,000", number(1234567): "1,234,567", number(-1200): "−1,200",
		plural(1, "agent", "agents"): "1 agent", plural(1200, "agent", "agents"): "1,200 agents",
		span(0): "0 s", span(59 * time.Second): "59 s", span(61 * time.Minute): "1 h", span(47 * time.Hour): "47 h", span(72 * time.Hour): "3 days",
		countWord(0): "", countWord(99): "99", countWord(100): "99+",
		cut("häßlich", 4): "häß…", line("a\nb\u200b", 20): "a b<U+200B>",
		crew{Total: 12, working: 9, waiting: 1, idle: 2}.words(): "9 of 12 agents are working. 1 is waiting for you, 2 are idle.",
		crew{Total: 1, working: 1}.words():                       "1 agent is working.",
		crew{Total: 3, working: 3}.words():                       "All 3 agents are working.",
		crew{}.words():                                           "No agent is connected.",
		makerOf("", "claude-code").Mark:                          "Cl",
		makerOf("codex").Name:                                    "Codex",
		makerOf("my<agent>").Mark:                                "my",
		makerOf().Name:                                           "agent",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestNow_order: what waiting costs decides the order.
func TestNow_order(t *testing.T) {
	s := newTestSite(t, false)
	s.askAs("key:one", board.NewQuestion{Text: "Later?", Default: "yes"})
	failing := board.Actor{Principal: "key:two", Owner: "p-two"}
	s.task("shop", "Import")
	h, err := s.board.Next(t.Context(), failing, board.Wish{Projects: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	failing.Worker = h.Claim.Worker.Name
	if _, err := s.board.Fail(t.Context(), failing, h.Claim.Handle, board.Failure{Kind: board.FailWrongSpec, Reason: "It contradicts itself."}); err != nil {
		t.Fatal(err)
	}
	s.askAs("key:three", board.NewQuestion{Text: "Now?"})
	_, body := s.signedIn("ada", "shop", auth.Viewer).get("/")
	at := -1
	for _, want := range []string{"3 things need you.", "Now?", "It contradicts itself.", "Later?"} {
		i := strings.Index(body, want)
		if i < at {
			t.Errorf("%q stands at %d, before what costs more", want, i)
		}
		at = i
	}
	if at < 0 {
		t.Errorf("something is missing: %s", body)
	}
}

// TestNow_paused and an empty board.
func TestNow_empty(t *testing.T) {
	s := newTestSite(t, false)
	if err := s.board.Pause(t.Context(), board.Actor{Principal: "local", Name: "Ada", Person: true}, "shop"); err != nil {
		t.Fatal(err)
	}
	_, body := s.signedIn("ada", "shop", auth.Viewer).get("/")
	for _, want := range []string{"Nothing needs you.", "shop is paused by Ada.", "No agent yet", "No tasks yet"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestManyProjects: a page about all projects reads a bounded number of them.
func TestManyProjects(t *testing.T) {
	s := newTestSite(t, false)
	for i := range maxProjects + 5 {
		if err := s.board.SetProject(t.Context(), board.Project{Slug: fmt.Sprintf("p%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	status, body := s.signedIn("ada", auth.EveryProject, auth.Viewer).get("/")
	if status != 200 || strings.Count(body, "<option") < maxProjects+5 || !strings.Contains(body, "You see 20 projects; 7 more") {
		t.Errorf("GET / = %d, %d choices", status, strings.Count(body, "<option"))
	}
}

// slowRuns is a board whose runs take for ever to read.
type slowRuns struct{ access.Board }

func (slowRuns) Runs(ctx context.Context, _ board.ID) ([]board.Run, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestActivity_slow: a page does not wait for the logs of running agents.
func TestActivity_slow(t *testing.T) {
	a := newActivity(slowRuns{})
	var claims []board.Handle
	for i := range 100 {
		claims = append(claims, board.Handle{Task: board.ID{Project: "shop", No: int64(i + 1)}, Attempt: 1, Nonce: "aaaaa"})
	}
	begun := time.Now()
	a.refresh(t.Context(), claims)
	if d := time.Since(begun); d > 20*refreshTime {
		t.Errorf("refresh took %v, want about %v", d, refreshTime)
	}
	if d := a.known(claims[0]); d.Known {
		t.Errorf("known = %+v", d)
	}
}
