package tools_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/tools"
)

// lossyBoard is a board that loses its database.
type lossyBoard struct {
	*board.Board
	lost error // returned by most methods once it is set
}

func (b *lossyBoard) Project(ctx context.Context, slug string) (board.Project, error) {
	if b.lost != nil {
		return board.Project{}, b.lost
	}
	return b.Board.Project(ctx, slug)
}

func (b *lossyBoard) Claims(ctx context.Context, f board.ClaimFilter) ([]board.Claim, error) {
	if b.lost != nil {
		return nil, b.lost
	}
	return b.Board.Claims(ctx, f)
}

// Next loses the database after it has handed out a task.
func (b *lossyBoard) Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error) {
	h, err := b.Board.Next(ctx, a, w)
	b.lost = errors.Join(board.ErrUnavailable, errors.New("user=bossman"))
	return h, err
}

// TestOutage: while the database is unreachable, tools say so in their own words, without
// the driver's error. A task that was handed out just before is still delivered.
func TestOutage(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := &lossyBoard{Board: board.New(store, nil)}
	if err := b.SetProject(t.Context(), board.Project{Slug: "web"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Create(t.Context(), board.Actor{Principal: "ada"}, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
		t.Fatal(err)
	}
	var unknown error // returned by Who
	s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, &mcp.ServerOptions{Visible: tools.Visible})
	register(s, b, setup{Who: func(context.Context, mcp.Principal) (*access.Caller, error) {
		return &access.Caller{
			Actor: board.Actor{Principal: "key", Owner: "key"}, Role: auth.Worker, Roles: map[string]auth.Role{"web": auth.Worker},
		}, unknown
	}})
	c := mcptest.Connect(t, s, nil)
	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := c.Call(t.Context(), tool, args, nil)
		if err != nil {
			t.Fatalf("%s: %v, want a result", tool, err)
		}
		return res.Text()
	}
	if got := call("get_next_task", map[string]any{"skills": []string{"go"}}); !strings.Contains(got, "web-1 is yours") {
		t.Errorf("get_next_task, with the database lost after the hand-out: %s", got)
	}
	const want = "The board cannot be reached"
	for tool, args := range map[string]map[string]any{
		"get_next_task": {}, "get_task": {}, "create_task": {"description": "x"},
		"report_progress": {"claim": "web-1", "note": "x"}, "report_task_done": {"claim": "web-1", "summary": "x"},
	} {
		if got := call(tool, args); !strings.Contains(got, want) || strings.Contains(got, "user=") {
			t.Errorf("%s during the outage: %s", tool, got)
		}
	}
	unknown = b.lost
	if got := call("get_task", nil); !strings.Contains(got, want) || strings.Contains(got, "user=") {
		t.Errorf("get_task with an unknown caller: %s", got)
	}
}
