package land

import (
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// TestUndo_shared: undoing work says which other tasks had the same, and not those that were built on it.
func TestUndo_shared(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	two := y.task("two", "main", map[string]string{"one": "1\n"})
	y.task("three", "main", map[string]string{"three": "1\n"})
	y.land()
	four := y.task("four", "main", map[string]string{"one": "1\n"})
	y.land()
	y.task("five", "next", map[string]string{"five": "1\n"})
	y.task("six", "main", map[string]string{"three": "1\n"})
	y.land()
	done, err := Undo(t.Context(), &y.o, y.board, person, one, "it was wrong", true)
	if want := []board.ID{two, four}; err != nil || !slices.Equal(done.Shared, want) {
		t.Errorf("Undo = %+v, %v, want %v shared", done, err, want)
	}
	if text := y.status(done.Undo, board.Landing).Doc.Description; !strings.Contains(text, "web-2 had the same work, and has landed nothing of its own") {
		t.Errorf("the description is %q", text)
	}
}
