package land

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// The advice for a target that is gone while work waits for it can be followed.
func TestLand_renamedTarget(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("change a", "main", map[string]string{"a": "2\n"})
	y.git("-C", y.dir, "branch", "-m", "next", "other")
	if err := New(&y.o).Run(t.Context()); err != nil {
		t.Error(err)
	}
	line, err := y.board.Line(t.Context(), "web")
	if err != nil || !strings.Contains(line.Lander.Note.Stopped, "take what waits out of the queue with bossman land return, and then land elsewhere: bossman project set --land BRANCH") {
		t.Errorf("landing on a branch that is gone, people are told %q, %v", line.Lander.Note.Stopped, err)
	}
	if _, err := y.board.Return(t.Context(), person, one, board.Return{Kind: board.ReturnAsked}); err != nil {
		t.Error(err)
	}
	if err := y.board.SetLand(t.Context(), person, "web", "other"); err != nil {
		t.Error(err)
	}
}
