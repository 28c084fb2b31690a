package tools_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// aCommit is the full name of a commit.
var aCommit = strings.Repeat("a", 40)

// A gitWork is work in git that can be landed; same if the target has it already.
type gitWork struct {
	idle bool // nothing has changed
	slowCheck
	same           bool
	stored, shared *int
	lost           bool // the remote repository cannot be reached the first time
}

func (gitWork) Place(context.Context, board.Work, string) (board.Where, error) {
	return board.Where{Host: "h", Dir: "/w", Branch: "work"}, nil
}

func (g gitWork) Elsewhere(context.Context, board.Work, func(board.Where, board.Idle) bool) ([]board.Where, board.Idle, error) {
	if g.idle {
		return nil, board.IdleAlways, nil
	}
	return nil, board.NotIdle, nil
}

func (g gitWork) Store(_ context.Context, w board.Work, _, title, summary string) (string, error) {
	*g.stored++
	if w.Place.Dir != "/w" || title != "One" || summary != "made it" {
		return "", &board.PlaceError{Why: "this is not the work", Next: "look"}
	}
	return aCommit, nil
}

func (g gitWork) Diff(_ context.Context, w board.Work, tip board.Tip) (board.Diff, error) {
	return board.Diff{Base: tip.Base, Tip: tip.Commit, Files: []board.FileDiff{{Path: w.Task.String(), Kind: "A"}}}, nil
}

func (g gitWork) Tip(_ context.Context, _ board.Work, commit, land string) (board.Tip, bool, error) {
	if land != "main" && land != "origin/main" && land != "" {
		return board.Tip{}, false, board.ErrInvalid
	}
	return board.Tip{Commit: commit, Tree: strings.Repeat("b", 40), Base: strings.Repeat("c", 40)}, g.same, nil
}

func (g gitWork) Share(_ context.Context, h board.Handle, commit, land string) error {
	*g.shared++
	if h.Attempt != 1 || commit != aCommit || g.lost && *g.shared == 1 {
		return &board.PlaceError{Why: "origin cannot be reached", Next: "wait"}
	}
	return nil
}

// TestReport_landing: in a project that lands its work a report has the commit with it, and its task waits for
// that, unless the target has nothing to gain. In others its work is stored if somebody reviews it. What
// was stored is kept with what it changed.
func TestReport_landing(t *testing.T) {
	const waits = "Recorded. web-1 now waits to be landed, which needs nothing from you; your claim has ended."
	keep := func(_ context.Context, at board.Where, _, _ string) (board.Where, board.Evidence, error) {
		return at, board.Evidence{Kind: board.EvidenceOther, Ref: aCommit}, nil
	}
	for name, x := range map[string]struct {
		land    string
		policy  board.Policy
		same    bool
		says    bool
		keep    func(context.Context, board.Where, string, string) (board.Where, board.Evidence, error)
		status  board.Status
		tip, no bool
		stored  int
		shared  int
		text    string
	}{
		"lands":                           {land: "main", status: board.Landing, tip: true, stored: 1, shared: 1, text: waits},
		"lands, under bossman work":       {land: "main", keep: keep, status: board.Landing, tip: true, shared: 1, text: waits},
		"nothing to gain":                 {land: "main", same: true, status: board.Done, tip: true, no: true, stored: 1, text: "web-1 is done."},
		"its worker says so":              {land: "main", says: true, status: board.Done, no: true, text: "web-1 is done."},
		"its worker says so, and is seen": {land: "main", says: true, keep: keep, status: board.Landing, tip: true, shared: 1, text: waits},
		"does not land":                   {status: board.Done, text: "web-1 is done."},
		"does not land, bossman work":     {keep: keep, status: board.Done, tip: true, text: "web-1 is done."},
		"is reviewed":                     {policy: board.PolicyPerson, status: board.InReview, tip: true, stored: 1, text: "Recorded. web-1 is now in review"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			b := board.New(store, nil)
			if err := b.SetProject(t.Context(), board.Project{Slug: "web", Policy: x.policy}); err != nil {
				t.Fatal(err)
			}
			if err := b.SetLand(t.Context(), ada, "web", x.land); err != nil {
				t.Fatal(err)
			}
			task, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
			if err != nil {
				t.Fatal(err)
			}
			stored, shared := 0, 0
			s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
			register(s, b, setup{Project: "web", Inspector: gitWork{idle: x.says, same: x.same, stored: &stored, shared: &shared}, Keep: x.keep})
			c := mcptest.Connect(t, s, mcp.Newest, nil)
			res, err := c.Call(t.Context(), "get_next_task", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			report := map[string]any{"claim": claimOf(t, res)["claim"], "summary": "made it"}
			if x.says {
				report["no_changes"] = true
			}
			for _, want := range []string{x.text, "You already reported this. " + x.text} {
				if res, err = c.Call(t.Context(), "report_task_done", report, nil); err != nil || !strings.HasPrefix(res.Text(), want) {
					t.Errorf("report_task_done = %q, %v; want %q", res.Text(), err, want)
				}
			}
			d, err := b.Get(t.Context(), task.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			r := d.Doc.Result
			if d.Task.Status != x.status || (r.Tip.Commit == aCommit) != x.tip || r.NoChanges != x.no || stored != x.stored || shared != x.shared {
				t.Errorf("the task is %s with %+v, stored %d times, shared %d times", d.Task.Status, r, stored, shared)
			}
			diff, err := b.Diff(t.Context(), task.ID, 0)
			if err != nil || (diff.Diff.Tip == aCommit && diff.Diff.Files[0].Path == "web-1") != x.tip {
				t.Errorf("its diff is %+v, %v", diff, err)
			}
		})
	}
}

// TestReport_notShared: a report is not accepted before its work is where it can be landed.
func TestReport_notShared(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := board.New(store, nil)
	if err := b.SetProject(t.Context(), board.Project{Slug: "web"}); err != nil {
		t.Fatal(err)
	}
	if err := b.SetLand(t.Context(), ada, "web", "origin/main"); err != nil {
		t.Fatal(err)
	}
	task, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
	if err != nil {
		t.Fatal(err)
	}
	stored, shared := 0, 0
	s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
	register(s, b, setup{Project: "web", Inspector: gitWork{stored: &stored, shared: &shared, lost: true}})
	c := mcptest.Connect(t, s, mcp.Newest, nil)
	res, err := c.Call(t.Context(), "get_next_task", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	report := map[string]any{"claim": claimOf(t, res)["claim"], "summary": "made it"}
	for _, want := range []struct {
		text   string
		status board.Status
	}{{"Your work could not be stored: origin cannot be reached.", board.InProgress}, {"Recorded.", board.Landing}} {
		res, err := c.Call(t.Context(), "report_task_done", report, nil)
		if err != nil || !strings.Contains(res.Text(), want.text) {
			t.Errorf("report_task_done = %q, %v; want %q", res.Text(), err, want.text)
		}
		if d, err := b.Get(t.Context(), task.ID, 0); err != nil || d.Task.Status != want.status {
			t.Errorf("the task is %s, %v; want %s", d.Task.Status, err, want.status)
		}
	}
}
