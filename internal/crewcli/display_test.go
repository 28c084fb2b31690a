package crewcli

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/console"
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
	if got, want := d.totals(), "1 done"; got != want {
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
