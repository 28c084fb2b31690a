package land

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
)

// claimed takes a new task, and reports a commit for it as it is told to have begun and changed.
func (y *yard) claimed(title, tip, base string, diff func(board.Diff) board.Diff) board.ID {
	y.Helper()
	if _, _, err := y.board.Create(y.Context(), y.actor, board.NewTask{Project: "web", Title: title}, ""); err != nil {
		y.Fatal(err)
	}
	worker := board.Actor{Principal: "ada", Owner: board.NewNonce()}
	h, err := y.board.Next(y.Context(), worker, board.Wish{Projects: []string{"web"}})
	if err != nil {
		y.Fatal(err)
	}
	worker.Worker = h.Claim.Worker.Name
	r := board.Report{Summary: "did " + title, Where: y.at, Tip: board.Tip{Commit: tip, Tree: y.git("-C", y.dir, "rev-parse", tip+"^{tree}"), Base: base}}
	if diff != nil {
		d, err := check.Diff(y.Context(), y.o.Repo, r.Tip, git.DiffLimit{Files: board.MaxDiffFiles, Patch: board.MaxFileDiff, All: board.MaxDiff})
		if err != nil {
			y.Fatal(err)
		}
		r.Diff = diff(d)
	}
	if _, err := y.board.Done(y.Context(), worker, h.Claim.Handle, r); err != nil {
		y.Fatal(err)
	}
	return h.Task.ID
}

// TestLand_diff: work lands only if the diff that reviewers were shown is what it changes.
func TestLand_diff(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	for name, x := range map[string]struct {
		diff  func(board.Diff) board.Diff
		lands bool
	}{
		"honest":   {func(d board.Diff) board.Diff { return d }, true},
		"none":     {nil, true},
		"withheld": {func(d board.Diff) board.Diff { return board.Diff{Base: d.Base, Tip: d.Tip, Withheld: true} }, true},
		"another": {func(d board.Diff) board.Diff {
			d.Files[0].Patch = strings.ReplaceAll(d.Files[0].Patch, "steal", "greet")
			return d
		}, false},
		"less": {func(d board.Diff) board.Diff { d.Files = d.Files[:1]; return d }, false},
	} {
		base := y.git("-C", y.dir, "rev-parse", "next")
		id := y.claimed(name, y.commit(base, name, map[string]string{"one-" + name: "steal\n", "two-" + name: "2\n"}), base, x.diff)
		y.land()
		if x.lands {
			y.status(id, board.Done)
			y.tells("landed " + id.String())
			continue
		}
		y.status(id, board.Landing)
		if n := len(y.events); n == 0 || !strings.Contains(y.events[n-1].Text, "shown something else than commit") {
			t.Errorf("%s: it says %+v", name, y.events)
		}
		y.events = nil
		if _, err := y.board.Return(t.Context(), person, id, board.Return{Attempt: 1, Kind: board.ReturnAsked, Text: "no"}); err != nil {
			t.Fatal(err)
		}
		if _, err := y.board.Cancel(t.Context(), person, id, "no", board.DependentsKeep); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLand_base: what work was reported to begin from does not hide what it changes.
func TestLand_base(t *testing.T) {
	y := newYard(t, "", map[string]string{"acl": "none\n"})
	closed := y.git("-C", y.dir, "rev-parse", "next")
	open := y.commit(closed, "open", map[string]string{"acl": "all\n"})
	again := y.commit(open, "closed again", map[string]string{"acl": "strict\n"})
	y.git("-C", y.dir, "update-ref", "refs/heads/next", again)
	honest := func(d board.Diff) board.Diff { return d }
	// A commit of the target that the work was not made on top of.
	one := y.claimed("one", y.commit(closed, "one", map[string]string{"acl": "all\n", "b": "1\n"}), open, honest)
	// One that is older than what the work was made on top of, where the file was as the work makes it.
	two := y.claimed("two", y.commit(again, "two", map[string]string{"acl": "none\n", "c": "1\n"}), closed, honest)
	y.land()
	y.tells("waits "+one.String(), "waits "+two.String())
	if got := y.git("-C", y.dir, "rev-parse", "next"); got != again {
		t.Errorf("the target is at %s", got)
	}
}

// TestLand_begunLater: work that was made on top of what had landed is not shown as if it began before that, where it
// takes back a part of it. What lands after the report is another matter.
func TestLand_begunLater(t *testing.T) {
	y := newYard(t, "", map[string]string{"acl": "none\n\n\n\n\n\n\n\nend\n"})
	old := y.git("-C", y.dir, "rev-parse", "next")
	honest := func(d board.Diff) board.Diff { return d }
	first := y.commit(old, "first", map[string]string{"acl": "strict\n\n\n\n\n\n\n\nend\n"})
	early := y.commit(first, "early", map[string]string{"acl": "strict\n\n\n\n\n\n\n\nearly\n"})
	y.claimed("first", first, old, honest)
	before := y.claimed("before it has landed", early, old, honest)
	y.land()
	y.tells("landed web-1", "landed web-2")
	y.status(before, board.Done)
	late := y.claimed("late", y.commit("next", "late", map[string]string{"acl": "none\n\n\n\n\n\n\n\nlate\n"}), old, honest)
	y.land()
	y.tells("waits " + late.String())
	if n := len(y.events); n > 0 && !strings.Contains(y.events[0].Text, "which had landed by then") {
		t.Errorf("it says %+v", y.events)
	}
	fair := y.git("-C", y.dir, "rev-parse", "next")
	id := y.claimed("fair", y.commit("next", "fair", map[string]string{"b": "1\n"}), fair, honest)
	y.land()
	y.status(id, board.Done)
}
