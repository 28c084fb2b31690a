package land

import (
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// A task that was reworked lands before those that waited for it, also before older ones: it does not conflict again.
func TestLand_reworkedFirst(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	var report []func(base string, files map[string]string) board.ID
	for _, title := range []string{"one", "two", "three"} {
		if _, _, err := y.board.Create(t.Context(), y.actor, board.NewTask{Project: "web", Title: title}, ""); err != nil {
			t.Fatal(err)
		}
		report = append(report, y.claim())
	}
	report[2]("main", map[string]string{"a": "3\n"})
	y.land()
	y.tells("landed web-3")
	report[1]("main", map[string]string{"a": "2\n"})
	y.land()
	y.tells("conflict web-2")
	report[0]("main", map[string]string{"a": "0\n"})
	y.land()
	y.tells("waits web-1")
	y.report("next", map[string]string{"a": "32\n"})
	y.land()
	y.tells("landed web-2", "conflict web-1")
	y.report("next", map[string]string{"a": "320\n"})
	y.land()
	y.tells("landed web-1")
	y.has("a", "320")
}

// A task that was reworked keeps its turn while that is reviewed, and also if it is rejected.
func TestLand_reworkReviewed(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.task("one", "main", map[string]string{"a": "2\n"})
	two := y.task("two", "main", map[string]string{"a": "3\n"})
	y.task("three", "main", map[string]string{"a": "4\n"})
	y.land()
	y.tells("landed web-1", "conflict web-2", "waits web-3")
	if err := y.board.SetProject(t.Context(), board.Project{Slug: "web", Name: "web", Policy: board.PolicyPerson}); err != nil {
		t.Fatal(err)
	}
	person := board.Actor{Principal: "bea", Owner: board.NewNonce(), Person: true}
	for _, d := range []board.Decision{{Verdict: board.Reject, Note: "no"}, {Verdict: board.Accept}} {
		y.report("next", map[string]string{"a": "23\n"})
		y.status(two, board.InReview)
		y.land()
		y.tells("waits web-3")
		if _, err := y.board.Review(t.Context(), person, two, d); err != nil {
			t.Fatal(err)
		}
	}
	y.land()
	y.tells("landed web-2", "conflict web-3")
}

// Work does not wait for a task that was sent back and waits for others: among these may be the work itself.
func TestLand_reworkBlocked(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.task("one", "main", map[string]string{"a": "2\n"})
	two := y.task("two", "main", map[string]string{"a": "3\n"})
	three := y.task("three", "main", map[string]string{"a": "4\n"})
	y.land()
	y.tells("landed web-1", "conflict web-2", "waits web-3")
	if _, err := y.board.Update(t.Context(), y.actor, two, board.Edit{DependsOn: &[]board.ID{three}}); err != nil {
		t.Fatal(err)
	}
	y.land()
	y.tells("conflict web-3")
	y.report("next", map[string]string{"a": "24\n"})
	y.land()
	y.tells("landed web-3")
}

// TestLand_conflictWith: the other side of a conflict is the task that has changed the same lines, not the one that has
// changed the file last.
func TestLand_conflictWith(t *testing.T) {
	lines := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", ""}
	text := func(n int, line string) map[string]string {
		changed := slices.Clone(lines)
		changed[n] = line
		return map[string]string{"a": strings.Join(changed, "\n")}
	}
	y := newYard(t, "", map[string]string{"a": strings.Join(lines, "\n")})
	first := y.task("first", "main", text(0, "first"))
	late := y.task("late", "main", text(0, "late"))
	y.task("other", "main", text(7, "other"))
	y.land()
	y.tells("landed web-1", "landed web-3", "conflict web-2")
	d := y.status(late, board.Pending)
	n := slices.IndexFunc(d.Events, func(e board.Event) bool { return e.Kind == board.EventReturned })
	if told := d.Events[n].Detail.Returned; told.Other != first {
		t.Errorf("the other side is %v: %+v", told.Other, told)
	}
}
