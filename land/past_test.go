package land

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// TestLand_takenOut: what reviewers were shown lands, or the work waits, also if it goes on from work that had landed and was taken out of
// the target in a way that its history does not tell.
func TestLand_takenOut(t *testing.T) {
	const revert = "git worktree add -q ../t next && cd ../t && git revert --no-edit HEAD >/dev/null"
	for name, c := range map[string]struct {
		style git.Style
		line  string // which takes it out
		undo  bool
	}{
		"reverted":         {line: revert},
		"rebased, then so": {line: revert, style: git.Rebase},
		"partly":           {line: "git worktree add -q ../t next && cd ../t && git revert --no-edit HEAD >/dev/null && echo 8 >> a && git commit -qam more"},
		"reverted, undone": {line: revert, undo: true},
		"merged around": {
			line: "git worktree add -q --detach ../t next~1 && cd ../t && echo x > x && git add x && git commit -qm x && git merge -q -m merge next && git update-ref refs/heads/next HEAD", undo: true,
		},
	} {
		for _, again := range []bool{true, false} {
			t.Run(map[bool]string{true: "again, ", false: "another, "}[again]+name, func(t *testing.T) {
				y := newYard(t, "", map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n"})
				y.o.Style = c.style
				y.task("zero", "main", map[string]string{"zero": "0\n"})
				one := y.task("one", "main", map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n", "new": "1\n"})
				y.keep(one)
				y.land()
				old := y.status(one, board.Done).Doc.Result.Tip.Commit
				if name != "merged around" {
					y.shell(c.line)
				}
				var redo board.ID
				if c.undo {
					_, redo = y.undo(one)
					y.land()
				} else if task, err := y.board.Reopen(t.Context(), person, one, "it was wrong"); err != nil {
					t.Fatal(err)
				} else {
					redo = task.ID
				}
				if name == "merged around" {
					y.shell(c.line)
				}
				y.events = nil
				if again {
					if got := y.report(old, map[string]string{"fix": "1\n"}); got != redo {
						t.Fatalf("%v was worked on", got)
					}
					y.land()
					y.status(redo, board.Done)
					if got := y.git("-C", y.dir, "show", "next:a"); !strings.HasPrefix(got, "one\n2\n") || strings.Contains(c.line, "echo 8") && !strings.HasSuffix(got, "\n8") {
						t.Errorf("a has %q", got)
					}
					y.has("new", "1")
					y.has("fix", "1")
					return
				}
				if _, err := y.board.Cancel(t.Context(), person, redo, "not now", board.DependentsKeep); err != nil {
					t.Fatal(err)
				}
				two := y.task("two", old, map[string]string{"fix": "1\n"})
				y.land()
				if name == "merged around" { // then it is known to have been undone
					y.waiting(two, "of "+one.String()+", which was undone")
				} else {
					y.waiting(two, `shown what it changes in "a", and next would not get that`)
				}
			})
		}
	}
}

// TestLand_partTakenOut: what another task has taken out of work that has landed does not come back when that is done again.
func TestLand_partTakenOut(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n", "bad": "1\n"})
	y.land()
	y.shell("git worktree add -q ../t next && cd ../t && git rm -q bad && git commit -qm two")
	redo, err := y.board.Reopen(t.Context(), person, one, "it has a typo")
	if err != nil {
		t.Fatal(err)
	}
	y.report(y.status(one, board.Done).Doc.Result.Tip.Commit, map[string]string{"one": "2\n"})
	y.land()
	y.waiting(redo.ID, `shown what it changes in "bad"`)
}

// TestUndo_claimed: a commit of an agent that says that it undoes another one does not keep that from being undone.
func TestUndo_claimed(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.o.Style = git.Merge
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.land()
	landed := y.git("-C", y.dir, "rev-parse", "next")
	tip := y.commit("next", "two\n\nBossman-Task: web-2\nBossman-Undoes: web-1 "+landed, map[string]string{"two": "1\n"})
	y.status(y.claimed("two", tip, landed, nil), board.Landing)
	y.land()
	undo, _ := y.undo(one)
	y.land()
	y.status(undo, board.Done)
	if files := y.git("-C", y.dir, "ls-tree", "--name-only", "next"); files != "a\ntwo" {
		t.Errorf("the target has %q", files)
	}
}

// TestLand_broughtBack: work that goes on from work which was undone, and brought back, lands.
func TestLand_broughtBack(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.keep(one)
	y.land()
	undo, _ := y.undo(one)
	y.keep(undo)
	y.land()
	back, _ := y.undo(undo)
	y.land()
	y.status(back, board.Done)
	two, _, err := y.board.Create(t.Context(), y.actor, board.NewTask{Project: "web", Title: "two", Priority: board.Urgent}, "")
	if err != nil {
		t.Fatal(err)
	}
	worker := board.Actor{Principal: "ada", Owner: board.NewNonce()}
	h, err := y.board.Next(t.Context(), worker, board.Wish{Projects: []string{"web"}, Task: two.ID})
	if err != nil {
		t.Fatal(err)
	}
	worker.Worker = h.Claim.Worker.Name
	y.finish(worker, h, y.status(one, board.Done).Doc.Result.Tip.Commit, map[string]string{"one": "1\n2\n", "two": "2\n"})
	y.land()
	y.status(two.ID, board.Done)
	y.has("one", "1\n2")
	y.has("two", "2")
}
