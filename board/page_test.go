package board_test

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// TestPage_noEnd: a list that does not end, as a faulty server may send it, is an error.
func TestPage_noEnd(t *testing.T) {
	for name, step := range map[string]int64{"the same page again": 0, "another page each time": 1000} {
		asked := 0
		full := func(f board.TaskFilter) ([]board.Task, error) {
			asked++
			page := make([]board.Task, f.Limit)
			page[f.Limit-1].ID = board.ID{Project: "web", No: f.After.No + step}
			if step == 0 {
				page[f.Limit-1].ID.No = 7
			}
			return page, nil
		}
		_, _, err := board.Page(board.TaskFilter{Limit: 10}, func(board.Task) bool { return false }, full)
		if err == nil || !strings.Contains(err.Error(), "no end") || asked > 10_000 {
			t.Errorf("%s: Page = %v after %d pages, want that the list has no end", name, err, asked)
		}
	}
}
