package land

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
)

// waiting checks why a task waits in the queue, for people.
func (y *yard) waiting(id board.ID, parts ...string) {
	y.Helper()
	d := y.status(id, board.Landing)
	if d.Task.Failures != 0 {
		y.Errorf("%v has failed", id)
	}
	in, err := y.board.Inbox(y.Context(), "web")
	if err != nil {
		y.Fatal(err)
	}
	for _, w := range in.Landing {
		if w.Task != id {
			continue
		}
		for _, part := range append(parts, "bossman land return "+id.String()) {
			if !strings.Contains(w.Why, part) {
				y.Errorf("%v waits because %q: no %q", id, w.Why, part)
			}
		}
		return
	}
	y.Errorf("the inbox does not have %v: %+v", id, in.Landing)
}

// TestLand_notJudged: work that the check cannot judge waits, and other work goes past it.
func TestLand_notJudged(t *testing.T) {
	for name, c := range map[string]struct {
		check, setup string
		first, bad   map[string]string
		why          string
	}{
		"it writes a file": {check: "ls part-* | wc -l > count", first: map[string]string{"part-0": "", "count": "1\n"}, bad: map[string]string{"part-1": "", "part-2": "", "count": "2\n"}, why: `files changed while it ran: "count"`},
		"killed":           {check: "test ! -f bad || kill -9 $$", first: map[string]string{"a": ""}, bad: map[string]string{"bad": ""}, why: "killed"},
		"the setup":        {check: "true", setup: "sh setup", first: map[string]string{"setup": "exit 0\n"}, bad: map[string]string{"setup": "echo no such package; exit 1\n"}, why: "setup failed, exit status 1: no such package"},
		"a long text":      {check: "true", setup: "sh setup", first: map[string]string{"setup": "exit 0\n"}, bad: map[string]string{"setup": "seq 1000; echo no such package; exit 1\n"}, why: "setup failed, exit status 1"},
		"a filter":         {check: "true", first: map[string]string{".gitattributes": "*.bad filter=bad\n"}, bad: map[string]string{"a.bad": "1\n"}, why: "could not be checked out"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, c.check, c.first)
			y.o.Accept = func(string) bool { return true }
			y.git("-C", y.dir, "config", "filter.bad.clean", "cat")
			y.git("-C", y.dir, "config", "filter.bad.smudge", "echo no key >&2; false")
			y.git("-C", y.dir, "config", "filter.bad.required", "true")
			if c.setup != "" {
				y.o.Setup = func() (command, when []string, err error) { return check.Shell(c.setup), []string{"setup"}, nil }
			}
			before := y.task("good", "main", map[string]string{"one": "1\n"})
			bad := y.task("bad", "main", c.bad)
			after := y.task("good, too", "main", map[string]string{"two": "1\n"})
			y.land()
			y.status(before, board.Done)
			y.status(after, board.Done)
			y.waiting(bad, c.why)
			y.events = nil
			y.land()
			y.tells("waits web-2")
			y.waiting(bad, c.why)
		})
	}
}

// TestLand_notJudgedTogether: two tasks are green, and cannot be judged together.
func TestLand_notJudgedTogether(t *testing.T) {
	y := newYard(t, "ls part-* | wc -l > count", map[string]string{"part-0": "", "count": "1\n"})
	one := y.task("one", "main", map[string]string{"part-1": "", "count": "2\n"})
	two := y.task("two", "main", map[string]string{"part-2": "", "count": "2\n"})
	three := y.task("other", "main", map[string]string{"docs": "1\n"})
	y.land()
	y.status(one, board.Done)
	y.status(three, board.Done)
	y.waiting(two, `"count"`, "commit what the check writes")
	if _, err := y.board.Return(t.Context(), lander, two, board.Return{Kind: board.ReturnAsked, Text: "count again"}); err != nil {
		t.Fatal(err)
	}
	y.report("next", map[string]string{"part-2": "", "count": "3\n"})
	y.land()
	y.status(two, board.Done)
}

// TestLand_targetNotJudged: nothing lands on a target that the check cannot judge, and the files are named.
func TestLand_targetNotJudged(t *testing.T) {
	y := newYard(t, "ls part-* | wc -l > count", map[string]string{"part-0": "", "count": "7\n"})
	id := y.task("other", "main", map[string]string{"docs": "1\n"})
	y.land()
	if len(y.events) == 0 || !strings.Contains(y.events[len(y.events)-1].Text, `could not judge next itself`) || !strings.Contains(y.events[len(y.events)-1].Text, `"count"`) {
		t.Errorf("it reported %+v", y.events)
	}
	y.tells("stopped")
	y.status(id, board.Landing)
}

// TestLander_interrupted: why work waits is still known if a round is interrupted.
func TestLander_interrupted(t *testing.T) {
	y := newYard(t, "true", map[string]string{"a": ""})
	l := New(&y.o)
	l.begin()
	l.stop(Event{Text: "the target is red"})
	l.rest(1)
	l.rest(-1)
	l.begin()
	l.restore()
	if l.note.Stopped != "the target is red" {
		t.Errorf("the note is %+v", l.note)
	}
}
