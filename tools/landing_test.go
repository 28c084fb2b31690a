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
	"github.com/bossman-dev/bossman/tools"
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

func (g gitWork) Store(_ context.Context, w board.Work, _, title, summary string) (string, board.Loose, error) {
	*g.stored++
	if w.Place.Dir != "/w" || title != "One" || summary != "made it" {
		return "", board.Loose{}, &board.PlaceError{Why: "this is not the work", Next: "look"}
	}
	return aCommit, board.Loose{}, nil
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
// that, unless its worker says that there are no changes. In others its work is stored if somebody reviews it. What
// was stored is kept with what it changed.
func TestReport_landing(t *testing.T) {
	const waits = "Recorded. web-1 now waits to be landed, which needs nothing from you; your claim has ended."
	keep := func(_ context.Context, at board.Where, _, _ string) (board.Where, board.Evidence, error) {
		return at, board.Evidence{Kind: board.EvidenceOther, Ref: aCommit}, nil
	}
	for name, x := range map[string]struct {
		land    string
		policy  board.Policy
		says    bool
		keep    func(context.Context, board.Where, string, string) (board.Where, board.Evidence, error)
		status  board.Status
		tip, no bool
		stored  int
		shared  int
		text    string
	}{
		"lands":                            {land: "main", status: board.Landing, tip: true, stored: 1, shared: 1, text: waits},
		"lands, under bossman work":        {land: "main", keep: keep, status: board.Landing, tip: true, shared: 1, text: waits},
		"its worker says so":               {land: "main", says: true, status: board.Done, no: true, text: "web-1 is done."},
		"its worker says so, bossman work": {land: "main", says: true, keep: keep, status: board.Done, no: true, text: "web-1 is done."},
		"does not land":                    {status: board.Done, text: "web-1 is done."},
		"does not land, bossman work":      {keep: keep, status: board.Done, tip: true, text: "web-1 is done."},
		"is reviewed":                      {policy: board.PolicyPerson, status: board.InReview, tip: true, stored: 1, text: "Recorded. web-1 is now in review"},
	} {
		t.Run(name, func(t *testing.T) {
			b := landingBoard(t, board.Project{Slug: "web", Policy: x.policy}, x.land)
			task, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
			if err != nil {
				t.Fatal(err)
			}
			stored, shared := 0, 0
			s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
			register(s, b, setup{Project: "web", Inspector: gitWork{idle: x.says, stored: &stored, shared: &shared}, Keep: x.keep})
			c := mcptest.Connect(t, s, nil)
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

// TestReport_nothingNew: a report of work that the target has already is refused under every policy, until its worker says that the task
// needs no change.
func TestReport_nothingNew(t *testing.T) {
	keep := func(_ context.Context, at board.Where, _, _ string) (board.Where, board.Evidence, error) {
		return at, board.Evidence{Kind: board.EvidenceOther, Ref: aCommit}, nil
	}
	for name, x := range map[string]struct {
		policy board.Policy
		keep   func(context.Context, board.Where, string, string) (board.Where, board.Evidence, error)
		status board.Status
	}{
		"evidence":             {status: board.Done},
		"trust":                {policy: board.PolicyTrust, status: board.Done},
		"person":               {policy: board.PolicyPerson, status: board.InReview},
		"under bossman work":   {keep: keep, status: board.Done},
		"trust, bossman work":  {policy: board.PolicyTrust, keep: keep, status: board.Done},
		"review, bossman work": {policy: board.PolicyReview, keep: keep, status: board.InReview},
	} {
		t.Run(name, func(t *testing.T) {
			b := landingBoard(t, board.Project{Slug: "web", Policy: x.policy}, "main")
			task, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
			if err != nil {
				t.Fatal(err)
			}
			stored, shared := 0, 0
			s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
			register(s, b, setup{Project: "web", Inspector: gitWork{same: true, stored: &stored, shared: &shared}, Keep: x.keep})
			c := mcptest.Connect(t, s, nil)
			res, err := c.Call(t.Context(), "get_next_task", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			report := map[string]any{"claim": claimOf(t, res)["claim"], "summary": "made it"}
			const want = `Not recorded. You still hold web-1. "main" already has everything of what you report`
			for range 2 {
				if res, err = c.Call(t.Context(), "report_task_done", report, nil); err != nil || !strings.HasPrefix(res.Text(), want) || !strings.Contains(res.Text(), `repeat the call with "no_changes":true`) {
					t.Errorf("report_task_done = %q, %v; want %q", res.Text(), err, want)
				}
			}
			if d, err := b.Get(t.Context(), task.ID, 0); err != nil || d.Task.Status != board.InProgress || d.Doc.Result != nil {
				t.Fatalf("the task is %s with %+v, %v", d.Task.Status, d.Doc.Result, err)
			}
			report["no_changes"] = true
			res, err = c.Call(t.Context(), "report_task_done", report, nil)
			d, gone := b.Get(t.Context(), task.ID, 0)
			if err != nil || gone != nil || d.Task.Status != x.status || !d.Doc.Result.NoChanges || shared != 0 {
				t.Errorf("with no_changes: %q, %v; the task is %s, shared %d times", res.Text(), err, d.Task.Status, shared)
			}
		})
	}
}

// landingBoard returns a board with one project, whose work lands on a target.
func landingBoard(t *testing.T, p board.Project, target string) *board.Board {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	b := board.New(store, nil)
	if err := b.SetProject(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := b.SetLand(t.Context(), ada, p.Slug, target); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReport_notShared: a report is not accepted before its work is where it can be landed.
func TestReport_notShared(t *testing.T) {
	b := landingBoard(t, board.Project{Slug: "web"}, "origin/main")
	task, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
	if err != nil {
		t.Fatal(err)
	}
	stored, shared := 0, 0
	s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
	register(s, b, setup{Project: "web", Inspector: gitWork{stored: &stored, shared: &shared, lost: true}})
	c := mcptest.Connect(t, s, nil)
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

// TestReport_outOfSight: over HTTP a report of work that is to be landed is refused, and one of no changes is recorded.
func TestReport_outOfSight(t *testing.T) {
	b := landingBoard(t, board.Project{Slug: "web"}, "main")
	if _, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
	register(s, b, setup{Project: "web"})
	c := mcptest.Connect(t, s, nil)
	res, err := c.Call(t.Context(), "get_next_task", nil, nil)
	if err != nil || !strings.Contains(res.Text(), `lands its work on "main"`) {
		t.Fatalf("get_next_task = %q, %v", res.Text(), err)
	}
	report := map[string]any{"claim": claimOf(t, res)["claim"], "summary": "made it"}
	if res, err = c.Call(t.Context(), "report_task_done", report, nil); err != nil || !strings.Contains(res.Text(), "cannot look at yours over HTTP") {
		t.Errorf("report_task_done = %q, %v", res.Text(), err)
	}
	report["no_changes"] = true
	for range 2 {
		if res, err = c.Call(t.Context(), "report_task_done", report, nil); err != nil || !strings.Contains(res.Text(), "web-1 is done") {
			t.Errorf("report_task_done = %q, %v", res.Text(), err)
		}
	}
}

// TestReport_leavesOut: a report of no changes that leaves out work of its task is refused once, and then names that work, also if it
// cannot be looked at.
func TestReport_leavesOut(t *testing.T) {
	for name, unseen := range map[string]bool{"seen": false, "over HTTP": true} {
		t.Run(name, func(t *testing.T) {
			b := landingBoard(t, board.Project{Slug: "web"}, "main")
			task, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
			if err != nil {
				t.Fatal(err)
			}
			stored, shared, told := 0, 0, false
			work := gitWork{stored: &stored, shared: &shared}
			connect := func(i tools.Inspector) *mcp.Client {
				s := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
				register(s, b, setup{Project: "web", Inspector: i})
				return mcptest.Connect(t, s, nil)
			}
			c := connect(work)
			report := func(want string, args map[string]any) {
				t.Helper()
				res, err := c.Call(t.Context(), "report_task_done", args, nil)
				if err != nil || !strings.Contains(res.Text(), want) {
					t.Errorf("report_task_done = %q, %v; want %q", res.Text(), err, want)
				}
			}
			claim := func() any {
				t.Helper()
				res, err := c.Call(t.Context(), "get_next_task", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				return claimOf(t, res)["claim"]
			}
			report("waits to be landed", map[string]any{"claim": claim(), "summary": "made it"})
			if _, err := b.Return(t.Context(), ada, task.ID, board.Return{Kind: board.ReturnAsked, Text: "not like this"}); err != nil {
				t.Fatal(err)
			}
			if c = connect(leaving{work, &told}); unseen {
				c = connect(nil)
			}
			again := map[string]any{"claim": claim(), "summary": "all there", "no_changes": true}
			report(`"main" lacks work of this task: commit aaaaaaaaaa of branch "work" changed "web-1".`, again)
			report("web-1 is done", again)
			d, err := b.Get(t.Context(), task.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			if e := d.Doc.Result.Evidence; len(e) != 1 || !e[0].Observed || !strings.Contains(e[0].Detail, `changed "web-1"`) {
				t.Errorf("evidence = %+v; want one piece that names web-1", e)
			}
		})
	}
}

// leaving is idle work of a task that had some before.
type leaving struct {
	gitWork
	told *bool
}

func (leaving) Elsewhere(context.Context, board.Work, func(board.Where, board.Idle) bool) ([]board.Where, board.Idle, error) {
	return nil, board.IdleAlways, nil
}

func (l leaving) Forgone(_ context.Context, w board.Work, _ func(board.Where) bool) ([]board.Forgone, bool, error) {
	first := !*l.told
	*l.told = true
	return []board.Forgone{{Commit: w.Former.Tip.Commit, Branch: w.Former.Attempt.Where.Branch, Files: []string{"web-1"}, Here: true}}, first, nil
}
