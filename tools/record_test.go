package tools_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// deafBoard is a board whose answers to reports are lost.
type deafBoard struct{ *board.Board }

func (b deafBoard) Done(ctx context.Context, a board.Actor, h board.Handle, r board.Report) (board.Outcome, error) {
	if _, err := b.Board.Done(ctx, a, h, r); err != nil {
		return board.Outcome{}, err
	}
	return board.Outcome{}, board.ErrUnavailable
}

// TestKeep: a report is recorded after its state was stored, with the commit that has it. If that
// cannot be stored, nothing is recorded; if the answer was lost, nothing else is stored.
func TestKeep(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := deafBoard{board.New(store, nil)}
	if err := b.SetProject(t.Context(), board.Project{Slug: "web"}); err != nil {
		t.Fatal(err)
	}
	task, _, err := b.Create(t.Context(), board.Actor{Principal: "ada"}, board.NewTask{Project: "web", Title: "One"}, "")
	if err != nil {
		t.Fatal(err)
	}
	stored := []string{"", "1111", "2222"} // the first cannot be stored
	s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
	register(s, b, setup{Project: "web", Inspector: slowCheck{}, Keep: func(_ context.Context, at board.Where, _, _ string) (board.Where, board.Evidence, error) {
		d, err := b.Get(t.Context(), task.ID, 0)
		if err != nil || d.Claim == nil {
			t.Errorf("a state is stored while the task is %v, %v; want one that is held", d.Task.Status, err)
		}
		head := stored[0]
		stored = stored[1:]
		if head == "" {
			return at, board.Evidence{}, &board.PlaceError{Why: `git cannot read "data"`, Next: "make that readable"}
		}
		at.Host, at.Dir, at.Head = "h", "/w", head
		return at, board.Evidence{Kind: board.EvidenceOther, Ref: head}, nil
	}})
	c := mcptest.Connect(t, s, nil)
	if _, err := c.Call(t.Context(), "get_next_task", nil, nil); err != nil {
		t.Fatal(err)
	}
	d, err := b.Get(t.Context(), task.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	claim := d.Claim.Handle.String()
	report := func(want string) {
		t.Helper()
		res, err := c.Call(t.Context(), "report_task_done", map[string]any{"claim": claim, "summary": "made it"}, nil)
		if err != nil || !strings.Contains(res.Text(), want) {
			t.Errorf("report_task_done = %v, %v; want %q", res.Text(), err, want)
		}
	}
	report(`Your work could not be stored: git cannot read "data". Next: make that readable, and repeat the call; if you cannot, ask a person.`)
	report("The board cannot be reached")
	report("The board cannot be reached") // which has recorded it
	if d, err = b.Get(t.Context(), task.ID, 0); err != nil {
		t.Fatal(err)
	}
	if at := d.Attempts[0].Where; at.Head != "1111" || d.Task.Status != board.Done {
		t.Errorf("the task is %v, at commit %q; want done, at 1111", d.Task.Status, at.Head)
	}
	if !slices.Equal(stored, []string{"2222"}) {
		t.Errorf("left to be stored: %q, want what came after the report", stored)
	}
}
