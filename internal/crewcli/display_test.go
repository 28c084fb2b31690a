package crewcli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/land"
)

// TestDisplay_block: on every terminal the block has the slots with their agents and tasks in
// columns, and no line is broken, whatever a title and an agent say. The columns stay where they are when a long title ends.
func TestDisplay_block(t *testing.T) {
	var agents []agent.Agent
	for range 2 {
		a, err := agent.Command([]string{"sh"})
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
	}
	d := newDisplay(console.New(os.Stdin, os.Stdout, os.Stderr, func(string) string { return "" }), agents, nil)
	d.width = 12
	web := func(n int64) board.ID { return board.ID{Project: "web", No: n} }
	for _, e := range []crew.Event{
		{Slot: "slot-2", Agent: "a-very-long-name-of-an-agent", Kind: crew.Began, Task: web(12), Title: "Short"},
		{Slot: "slot-1", Agent: "claude", Kind: crew.Began, Task: web(3), Title: "A title that is so long that it does not fit on any terminal, however wide that is 表示"},
		{Slot: "slot-1", Agent: "claude", Kind: crew.Said, Text: "runs a command\nwith many lines that go on and on, and on, and on, and on, and on, and on"},
		{Slot: "slot-10", Agent: "codex", Kind: crew.Waiting},
		{Slot: "slot-11", Agent: "✅❌⭐🟢🟢🟢🟢🟢", Kind: crew.Began, Task: web(4), Title: strings.Repeat("✅", 30) + "⚠️ next: bossman trust -y"},
		{Slot: "slot-11", Agent: "✅❌⭐🟢🟢🟢🟢🟢", Kind: crew.Said, Text: strings.Repeat("❌⭐🟢", 30)},
	} {
		d.take(e)
	}
	for _, k := range []crew.EventKind{crew.Done, crew.Review, crew.Failed, crew.Parked, crew.Lost} {
		d.take(crew.Event{Slot: "slot-10", Agent: "codex", Kind: k, Task: web(5)})
	}
	later := time.Now().Add(65 * time.Second)
	for _, width := range []int{20, 39, 79, 99, 139} {
		lines := d.block(width, later)
		if n := utf8.RuneCountInString(lines[0]); n > width {
			t.Errorf("%d columns, more than %d: %q", n, width, lines[0])
		}
		for _, line := range lines[1:] {
			if n := console.TextWidth(line); n > width {
				t.Errorf("%d columns, more than %d: %q", n, width, line)
			}
		}
		t.Logf("%d columns:\n%s", width, strings.Join(lines, "\n"))
		if width < 79 {
			continue
		}
		if !strings.HasPrefix(lines[1], "slot-1   claude        web-3   A title that is") || !strings.HasPrefix(lines[2], "slot-2   a-very-long…  web-12  Short  ") {
			t.Errorf("%d columns:\n%s", width, strings.Join(lines, "\n"))
		}
	}
	before := strings.Index(d.block(99, later)[2], "65 s")
	d.take(crew.Event{Slot: "slot-1", Agent: "claude", Kind: crew.Done, Task: web(3)})
	if after := strings.Index(d.block(99, later)[2], "65 s"); before < 0 || after != before {
		t.Errorf("the time moves from column %d to %d", before, after)
	}
	if got, want := d.totals(), "2 done · 1 waiting for a review · 1 attempt failed · 1 waiting for an answer · 1 taken away"; got != want {
		t.Errorf("totals() = %q, want %q", got, want)
	}
}

// TestDisplay_lines: what happens is said in a line, of what agents ask for only the beginning.
func TestDisplay_lines(t *testing.T) {
	d := newDisplay(console.New(os.Stdin, os.Stdout, os.Stderr, func(string) string { return "" }), nil, nil)
	id := board.ID{Project: "web", No: 3}
	for _, c := range []struct {
		event crew.Event
		want  string
	}{
		{crew.Event{Kind: crew.Began, Title: "Title"}, "web-3 begins: Title"},
		{crew.Event{Kind: crew.Resumed, Text: "commit 123, the last state of attempt 1"}, "web-3 goes on from commit 123, the last state of attempt 1"},
		{crew.Event{Kind: crew.Asked, Text: "q-1: may it use a command? make"}, "web-3 asks q-1: may it use a command? make"},
		{crew.Event{Kind: crew.Asked, Text: "q-1: may it use a command? make\nbecause"}, "web-3 asks q-1: may it use a command? make …"},
		{crew.Event{Kind: crew.Failed, Text: "ended"}, "web-3 failed: ended"},
		{crew.Event{Kind: crew.Reviewing, Title: "Title"}, "reviews web-3: Title"},
		{crew.Event{Kind: crew.Accepted}, "accepted web-3"},
		{crew.Event{Kind: crew.Rejected, Text: "no tests"}, "rejected web-3: no tests"},
		{crew.Event{Kind: crew.Skipped, Text: "too hard"}, "gives back the review of web-3: too hard"},
		{crew.Event{Kind: crew.NotNow, Text: "no network"}, "web-3 is given back by its agent: no network"},
	} {
		c.event.Slot, c.event.Task = "slot-1", id
		if got := d.take(c.event); got != c.want {
			t.Errorf("%s: %q, want %q", c.event.Kind, got, c.want)
		}
	}
	if got, want := d.totals(), "1 attempt failed · 1 given back by the agent · 1 accepted in a review · 1 rejected in a review · 1 review given back"; got != want {
		t.Errorf("totals() = %q, want %q", got, want)
	}
}

// A slot whose agent waits for an answer says for which, whatever its agent writes about the question.
func TestDisplay_asks(t *testing.T) {
	d := newDisplay(console.New(os.Stdin, os.Stdout, os.Stderr, func(string) string { return "" }), nil, nil)
	id := board.ID{Project: "web", No: 1}
	if line := d.take(crew.Event{Slot: "slot-1", Kind: crew.Began, Worker: "heron-e2a", Task: id, Title: "Paint the list of the front page"}); line != "web-1 begins: Paint the list of the front page (heron-e2a)" {
		t.Errorf("begins: %q", line)
	}
	if line := d.take(crew.Event{Slot: "slot-1", Kind: crew.Asked, Task: id, Text: "q-2: Which\ncolour?"}); line != "web-1 asks q-2: Which …" {
		t.Errorf("asks: %q", line)
	}
	d.take(crew.Event{Slot: "slot-1", Kind: crew.Said, Text: "Asked."})
	for _, width := range []int{60, 80, 140} {
		if lines := d.block(width, time.Now()); !strings.Contains(lines[1], "waits for your answer: q-2") || console.TextWidth(lines[1]) > width {
			t.Errorf("the slot shows %q", lines[1])
		}
	}
	d.slots[0].asked = time.Now().Add(-time.Minute)
	d.take(crew.Event{Slot: "slot-1", Kind: crew.Said, Text: "waits for your answer: q-7"})
	if lines := d.block(140, time.Now()); !strings.Contains(lines[1], "  | waits for your answer: q-7") {
		t.Errorf("the slot shows %q", lines[1])
	}
}

// A line of the log is broken, and not cut.
func TestLogLines(t *testing.T) {
	who, text := "20:00:00  slot-1   sh  ", strings.TrimSpace(strings.Repeat("word ", 60))
	lines := logLines(who, text, 80)
	if len(lines) < 2 || strings.Join(lines, " ") != text {
		t.Errorf("logLines = %q", lines)
	}
	for _, line := range lines {
		if console.TextWidth(who+line) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
	if lines := logLines(who, text, 0); len(lines) != 1 {
		t.Errorf("without a terminal: %q", lines)
	}
}

// TestDisplay_overtaken: a task does not wait to be landed after it has landed, or has gone back.
func TestDisplay_overtaken(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d := newDisplay(console.New(os.Stdin, os.Stdout, log, func(string) string { return "" }), nil, nil)
	web := func(n int64) board.ID { return board.ID{Project: "web", No: n} }
	ends := func(n int64) { d.event(crew.Event{Slot: "slot-1", Kind: crew.Landing, Task: web(n)}) }
	for n := range int64(3) {
		d.event(crew.Event{Slot: "slot-1", Kind: crew.Began, Task: web(n + 1), Title: "a task"})
	}
	d.landed(land.Event{Kind: land.Landed, Task: web(1), Commit: strings.Repeat("1", 40)})
	ends(1)
	d.landed(land.Event{Kind: land.Conflict, Task: web(2), Text: "a.go"})
	ends(2)
	ends(3)
	d.landed(land.Event{Kind: land.Red, Task: web(3)})
	d.event(crew.Event{Slot: "slot-1", Kind: crew.Began, Task: web(3), Title: "a task"})
	ends(3)
	text, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line)[1:]; words[0] == "slot-1" && words[2] != "begins:" {
			got = append(got, strings.Join(words[1:], " "))
		}
	}
	want := []string{"web-1 is done: it has landed", "web-2 goes back to its task", "web-3 waits to be landed", "web-3 waits to be landed"}
	if !slices.Equal(got, want) {
		t.Errorf("it says %q, not %q\n%s", got, want, text)
	}
	if got := d.totals(); got != "1 done · 2 waiting to be landed · 1 sent back" {
		t.Errorf("it counts %q", got)
	}
}
