package land

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// person asks for what is undone.
var person = board.Actor{Principal: "ada", Person: true}

// undo takes back the work of a task, and returns the tasks that this makes.
func (y *yard) undo(id board.ID) (undo, redo board.ID) {
	y.Helper()
	done, err := Undo(y.Context(), &y.o, y.board, person, id, "it was wrong")
	if err != nil {
		y.Fatal(err)
	}
	if done.Status != board.Landing {
		y.Fatalf("%v is %s", done.Undo, done.Status)
	}
	return done.Undo, done.Redo
}

// The work of one task in a batch is taken back, and what landed since stays. What is done again from the
// old work lands whole.
func TestUndo(t *testing.T) {
	for _, style := range []git.Style{git.Squash, git.Merge} {
		t.Run(string(style), func(t *testing.T) {
			y := newYard(t, "", map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n"})
			y.o.Style = style
			one := y.task("one", "main", map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n", "new": "1\n"})
			y.task("two", "main", map[string]string{"b": "1\n"})
			y.land()
			y.task("three", "next", map[string]string{"a": "one\n2\n3\n4\n5\n6\nthree\n"})
			y.land()
			y.events = nil
			undo, redo := y.undo(one)
			d := y.status(redo, board.Pending)
			if d.Task.Title != "Redo web-1: one" || !strings.Contains(d.Events[0].Detail.Prior, "Why: it was wrong") || len(d.Blockers) != 1 {
				t.Errorf("the new task is %+v", d)
			}
			_, err := Undo(t.Context(), &y.o, y.board, person, one, "")
			if e, ok := errors.AsType[*NotUndoneError](err); !ok || e.Why != "web-1 is being undone already, by "+undo.String() || !strings.Contains(e.Next, redo.String()) {
				t.Errorf("twice: %v", err)
			}
			y.land()
			y.tells("landed " + undo.String())
			y.status(undo, board.Done)
			y.status(one, board.Done)
			y.has("a", "1\n2\n3\n4\n5\n6\nthree")
			y.has("b", "1")
			if files := y.git("-C", y.dir, "ls-tree", "--name-only", "next"); files != "a\nb" {
				t.Errorf("the target has %q", files)
			}
			if got := y.git("-C", y.dir, "log", "-1", "--format=%s|%(trailers:key=Bossman-Undoes,valueonly)", "next"); got != "Undo web-1: one|web-1" {
				t.Errorf("the commit is %q", got)
			}
			_, err = Undo(t.Context(), &y.o, y.board, person, one, "")
			if e, ok := errors.AsType[*NotUndoneError](err); !ok || e.Why != "web-1 was undone already, by "+undo.String() || !strings.Contains(e.Next, redo.String()) {
				t.Errorf("once more: %v", err)
			}

			// Somebody goes on from the old work. After a merge git takes that for what was taken back.
			if style == git.Merge {
				return
			}
			old := y.status(one, board.Done).Doc.Result.Tip.Commit
			if got := y.report(old, map[string]string{"new": "2\n"}); got != redo {
				t.Fatalf("%v was worked on", got)
			}
			y.land()
			y.status(redo, board.Done)
			y.has("a", "one\n2\n3\n4\n5\n6\nthree")
			y.has("new", "2")
		})
	}
}

// What cannot be undone is said: work that has not landed, that changed nothing, or whose commits are not known.
func TestUndo_not(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.o.Style = git.Rebase
	one := y.task("one", "main", map[string]string{"b": "1\n"})
	refused := func(id board.ID, want string) {
		t.Helper()
		_, err := Undo(t.Context(), &y.o, y.board, person, id, "")
		if e, ok := errors.AsType[*NotUndoneError](err); !ok || !strings.Contains(e.Why, want) {
			t.Errorf("Undo(%v) = %v, want %q", id, err, want)
		}
	}
	refused(one, "no work of web-1 has landed on next")
	y.land()
	same := y.task("the same", "main", map[string]string{"b": "1\n"})
	y.land()
	refused(same, "has changed nothing")
	three := y.task("three", "main", map[string]string{"c": "1\n"})
	y.task("four", "main", map[string]string{"d": "1\n"})
	y.land()
	refused(three, "it is not known which of the commits")
	y.events = nil
	undo, _ := y.undo(one) // which landed alone
	y.land()
	y.tells("landed " + undo.String())
	if files := y.git("-C", y.dir, "ls-tree", "--name-only", "next"); files != "a\nc\nd" {
		t.Errorf("the target has %q", files)
	}
}

// What others have built on since is in conflict: a worker decides.
func TestUndo_conflict(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	y.task("two", "next", map[string]string{"a": "3\n"})
	y.land()
	y.events = nil
	undo, redo := y.undo(one)
	y.land()
	y.tells("conflict " + undo.String())
	y.status(undo, board.Pending)
	y.status(redo, board.Pending)
	y.has("a", "3")
}

// What has landed at a remote repository is taken back there, from any clone. What landed by a pull request is, too.
func TestUndo_remote(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.task("two", "main", map[string]string{"two": "2\n"})
	y.land()
	made := y.o.Repo
	y.laptop(origin)
	other := y.o.Repo
	y.o.Repo = made
	undo, _ := y.undo(one)
	y.o.Repo = other
	y.events = nil
	y.land()
	y.tells("landed " + undo.String())
	if files := y.git("-C", origin, "ls-tree", "--name-only", "main"); files != "a\ntwo" {
		t.Errorf("the target has %q", files)
	}

	if err := y.board.SetLand(t.Context(), y.actor, "web", "pr:main"); err != nil {
		t.Fatal(err)
	}
	y.o.Target = board.Target{Kind: board.TargetPR, Remote: "origin", Branch: "main"}
	pulls := &merging{y: y, origin: origin}
	y.o.Pulls, y.o.Repo = pulls, made
	y.report("main", map[string]string{"three": "3\n"}) // to do one again
	y.land()
	y.land()
	y.events = nil
	three := board.ID{Project: "web", No: 4}
	y.status(three, board.Done)
	undo, _ = y.undo(three)
	y.land()
	y.land()
	y.status(undo, board.Done)
	if files := y.git("-C", origin, "ls-tree", "--name-only", "main"); files != "a\ntwo" {
		t.Errorf("the target has %q", files)
	}
}

// merging is a remote repository whose pull requests are merged as soon as they are made.
type merging struct {
	y      *yard
	origin string
	merged map[string]string
}

func (m *merging) View(_ context.Context, branch string) (Pull, error) {
	if m.merged[branch] == "" {
		return Pull{}, nil
	}
	return Pull{State: PullMerged, URL: "https://example.org/1", Merged: m.merged[branch]}, nil
}

func (m *merging) Create(_ context.Context, base, branch, _, _ string) (string, error) {
	m.y.git("-C", m.origin, "update-ref", "refs/heads/"+base, "refs/heads/"+branch)
	if m.merged == nil {
		m.merged = map[string]string{}
	}
	m.merged[branch] = m.y.git("-C", m.origin, "rev-parse", base)
	return "https://example.org/1", nil
}
