package tools_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// keyBoard is a board as a server shows it: whose attempts are another key's is hidden.
type keyBoard struct{ *board.Board }

func (b keyBoard) Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error) {
	h, err := b.Board.Next(ctx, a, w)
	if err == nil {
		hideOwners(h.Dossier)
	}
	return h, err
}

func (b keyBoard) Get(ctx context.Context, id board.ID, events int) (board.Dossier, error) {
	d, err := b.Board.Get(ctx, id, events)
	hideOwners(d)
	return d, err
}

func hideOwners(d board.Dossier) {
	for i := range d.Attempts {
		if d.Attempts[i].Worker.Principal != "local" {
			d.Attempts[i].Owner = board.AnotherOwner
		}
	}
}

// lookingAt is an Inspector that can look at every place in /web, and finds files there that works
// have left.
type lookingAt struct {
	slowCheck
	looked *[]board.Where
	left   bool
}

func (i lookingAt) Look(_ context.Context, a board.Attempt) (board.Sight, bool) {
	*i.looked = append(*i.looked, a.Where)
	return board.Sight{Where: a.Where}, a.Where.Dir == "/web"
}

func (i lookingAt) Leftover(_ context.Context, works []board.Work) (first, files int) {
	if i.left && len(works) > 0 {
		return 0, 3
	}
	return -1, 0
}

// TestLeft_another: what an attempt with another key says about its place is passed on, and no more:
// nobody is told to go on there, or to fetch it, and it is not looked at.
func TestLeft_another(t *testing.T) {
	for _, c := range []struct {
		name, principal, dir string
		failed               string // the task of the attempt
		left                 bool
		has, hasNot          string
	}{
		{"ours", "local", "/web", "web-1", false, `Go on with branch "old-experiment"`, "another key"},
		{"theirs", "eve", "/web", "web-1", false, `its worker, who has another key, says: branch "old-experiment"`, "Go on with"},
		{"ours in another repository", "local", "/tmp/evil", "web-1", false, "git fetch /tmp/evil old-experiment", "another key"},
		{"theirs in another repository", "eve", "/tmp/evil", "web-1", false, `in "/tmp/evil" on "h"`, "git fetch"},
		{"files of ours", "local", "/web", "web-2", true, "perhaps from the last attempt at web-2", "another key"},
		{"files of theirs", "eve", "/web", "web-2", true, `"One"`, "web-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			b := keyBoard{board.New(store, nil)}
			if err := b.SetProject(t.Context(), board.Project{Slug: "web"}); err != nil {
				t.Fatal(err)
			}
			for _, title := range []string{"One", "Two"} {
				if _, _, err := b.Create(t.Context(), board.Actor{Principal: "ada"}, board.NewTask{Project: "web", Title: title}, ""); err != nil {
					t.Fatal(err)
				}
			}
			id, err := board.ParseID(c.failed)
			if err != nil {
				t.Fatal(err)
			}
			before := board.Actor{Principal: c.principal, Owner: c.principal + "/p-1"}
			h, err := b.Next(t.Context(), before, board.Wish{Projects: []string{"web"}, Task: id, Where: board.Where{Host: "h", Dir: c.dir, Branch: "main", Head: "abcdef123456"}})
			if err != nil {
				t.Fatal(err)
			}
			before.Worker = h.Claim.Worker.Name
			at := board.Where{Host: "h", Dir: c.dir, Branch: "old-experiment", Head: "1234567890ab", Named: true, Worked: true}
			if err := b.Locate(t.Context(), before, h.Claim.Handle, at); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Fail(t.Context(), before, h.Claim.Handle, board.Failure{Kind: board.FailOther, Reason: "later"}); err != nil {
				t.Fatal(err)
			}
			var looked []board.Where
			s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
			register(s, b, setup{Project: "web", Inspector: lookingAt{looked: &looked, left: c.left}, Where: func(context.Context) board.Where {
				return board.Where{Host: "h", Dir: "/web", Branch: "main", Head: "abcdef123456", Uncommitted: 3}
			}})
			res, err := mcptest.Connect(t, s, nil).Call(t.Context(), "get_next_task", map[string]any{"task": "web-1"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if text := res.Text(); !strings.Contains(text, c.has) || strings.Contains(text, c.hasNot) {
				t.Errorf("want %q and not %q in\n%s", c.has, c.hasNot, text)
			}
			for _, w := range looked {
				if w.Branch == "old-experiment" && c.principal != "local" {
					t.Errorf("it was looked at: %+v", w)
				}
			}
		})
	}
}

// TestLeft_served: what another key has said about its place is only quoted to an agent that is
// connected to the server itself, and an agent with the same key goes on there.
func TestLeft_served(t *testing.T) {
	for next, want := range map[string][2]string{
		"key:bob": {`its worker, who has another key, says: branch "old-experiment"`, "Go on with"},
		"key:eve": {`Go on with branch "old-experiment". Name branch "old-experiment" in every note`, "another key"},
	} {
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		b := board.New(store, nil)
		if err := b.SetProject(t.Context(), board.Project{Slug: "web"}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Create(t.Context(), board.Actor{Principal: "ada"}, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		as := func(key, tool string, args map[string]any) string {
			s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
			register(s, b, setup{Who: func(context.Context, mcp.Principal) (*access.Caller, error) {
				c := access.Local(auth.Worker, "web")
				c.Principal, c.Owner, c.OneWorker = key, key, true
				return c, nil
			}})
			res, err := mcptest.Connect(t, s, nil).Call(t.Context(), tool, args, nil)
			if err != nil {
				t.Fatal(err)
			}
			return res.Text()
		}
		claim := regexp.MustCompile(`Claim (\S+),`).FindStringSubmatch(as("key:eve", "get_next_task", nil))
		if claim == nil {
			t.Fatal("no claim")
		}
		as("key:eve", "report_progress", map[string]any{"claim": claim[1], "note": "half", "branch": "old-experiment"})
		as("key:eve", "report_task_failed", map[string]any{"claim": claim[1], "kind": "too_hard", "reason": "no idea"})
		if text := as(next, "get_next_task", map[string]any{"task": "web-1"}); !strings.Contains(text, want[0]) || strings.Contains(text, want[1]) {
			t.Errorf("%s: want %q and not %q in\n%s", next, want[0], want[1], text)
		}
	}
}
