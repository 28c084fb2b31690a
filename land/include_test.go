package land

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// keep keeps the work of an attempt as a clone does, and returns its commit.
func (y *yard) keep(id board.ID) string {
	y.Helper()
	d := y.status(id, board.Landing)
	y.git("-C", y.dir, "update-ref", fmt.Sprint(git.StateRefs(id.String()), d.Task.Attempt), d.Doc.Result.Tip.Commit)
	return d.Doc.Result.Tip.Commit
}

// sendBack takes a task out of the queue, so that it is done again.
func (y *yard) sendBack(id board.ID) {
	y.Helper()
	if _, err := y.board.Return(y.Context(), person, id, board.Return{Kind: board.ReturnAsked, Text: "not yet"}); err != nil {
		y.Fatal(err)
	}
}

// TestLand_includeEachOther: work that was done again on top of work that builds on it lands before that, with it.
func TestLand_includeEachOther(t *testing.T) {
	y := newYard(t, "true", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	two := y.task("two", y.keep(one), map[string]string{"two": "1\n"})
	tip := y.keep(two)
	y.sendBack(one)
	y.land()
	y.tells("waits web-2")
	y.report(tip, map[string]string{"one": "2\n"})
	y.keep(one)
	y.land()
	y.tells("landed web-1", "landed web-2")
	y.has("one", "2")
	y.has("two", "1")
}

// TestLand_includeEachOtherNever: neither of two tasks has all that waits of the other. Both say so.
func TestLand_includeEachOtherNever(t *testing.T) {
	y := newYard(t, "true", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	first := y.keep(one)
	two := y.task("two", first, map[string]string{"two": "1\n"})
	second := y.keep(two)
	y.sendBack(one)
	y.report(second, map[string]string{"one": "2\n"})
	y.keep(one)
	y.sendBack(two)
	y.report(first, map[string]string{"two": "2\n"})
	y.keep(two)
	y.land()
	y.tells("waits web-1", "waits web-2")
	for _, id := range []board.ID{one, two} {
		y.waiting(id, "neither can land before the other")
	}
	line, err := y.board.Line(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range line.Lander.Note.Waits {
		if strings.Contains(w.Why, "lands after that") {
			t.Errorf("%v waits: %s", w.Task, w.Why)
		}
	}
	y.sendBack(two)
	y.report("main", map[string]string{"two": "3\n"})
	y.keep(two)
	y.land()
	y.status(two, board.Done)
}
