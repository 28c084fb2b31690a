package land

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// person asks for what is undone.
var person = board.Actor{Principal: "ada", Person: true}

// undo takes back the work of a task, and returns the tasks that this makes.
func (y *yard) undo(id board.ID) (undo, redo board.ID) {
	y.Helper()
	done, err := Undo(y.Context(), &y.o, y.board, person, id, "it was wrong", true)
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
			if d.Task.Title != "Redo web-1: one" || !strings.Contains(d.Events[0].Detail.Why, "Why: it was wrong") || len(d.Blockers) != 1 {
				t.Errorf("the new task is %+v", d)
			}
			_, err := Undo(t.Context(), &y.o, y.board, person, one, "", true)
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
			if got := y.git("-C", y.dir, "log", "-1", "--format=%s|%(trailers:key=Bossman-Undoes,valueonly)", "next"); !strings.HasPrefix(got, "Undo web-1: one|web-1 ") {
				t.Errorf("the commit is %q", got)
			}
			_, err = Undo(t.Context(), &y.o, y.board, person, one, "", true)
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
		_, err := Undo(t.Context(), &y.o, y.board, person, id, "", true)
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
	return Pull{State: PullMerged, URL: "https://example.org/1", Merged: m.merged[branch], Commits: make([]PullCommit, 1)}, nil
}

func (m *merging) Create(_ context.Context, base, branch, _, _ string) (string, error) {
	m.y.git("-C", m.origin, "update-ref", "refs/heads/"+base, "refs/heads/"+branch)
	if m.merged == nil {
		m.merged = map[string]string{}
	}
	m.merged[branch] = m.y.git("-C", m.origin, "rev-parse", base)
	return "https://example.org/1", nil
}

// What a person orders needs no further review, whatever the policy, and its diff can be looked at. What a script orders is
// reviewed.
func TestUndo_policy(t *testing.T) {
	for _, policy := range []board.Policy{board.PolicyReview, board.PolicyPerson} {
		for _, accept := range []bool{true, false} {
			y := newYard(t, "", map[string]string{"a": "1\n"})
			one := y.task("one", "main", map[string]string{"a": "2\n"})
			y.land()
			if err := y.board.SetProject(t.Context(), board.Project{Slug: "web", Name: "web", Policy: policy}); err != nil {
				t.Fatal(err)
			}
			who := person
			who.Name = "Grace"
			done, err := Undo(t.Context(), &y.o, y.board, who, one, "", accept)
			want := board.InReview
			if accept {
				want = board.Landing
			}
			if err != nil || done.Status != want {
				t.Errorf("%s, %v: Undo = %+v, %v", policy, accept, done, err)
			}
			if d := y.status(done.Undo, want); !strings.HasSuffix(d.Doc.Result.Summary, "as Grace ordered.") {
				t.Errorf("the summary is %q", d.Doc.Result.Summary)
			}
			if d, err := y.board.Diff(t.Context(), done.Undo, 0); err != nil || len(d.Diff.Files) != 1 || d.Diff.Files[0].Path != "a" {
				t.Errorf("Diff = %+v, %v", d, err)
			}
		}
	}
}

// Tasks that build on work which is undone, and that nobody has begun, wait until it was done again.
func TestUndo_dependents(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	after := func(title string) board.ID {
		task, _, err := y.board.Create(t.Context(), y.actor, board.NewTask{Project: "web", Title: title, DependsOn: []board.ID{one}}, "")
		if err != nil {
			t.Fatal(err)
		}
		return task.ID
	}
	begun := after("begun")
	y.claim()
	ready := after("ready")
	done, err := Undo(t.Context(), &y.o, y.board, person, one, "", true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(done.Held, []board.ID{ready}) || !slices.Equal(done.Begun, []board.ID{begun}) {
		t.Errorf("held %v, begun %v, want %v, %v", done.Held, done.Begun, ready, begun)
	}
	y.land()
	if d := y.status(ready, board.Pending); d.Task.OpenBlockers != 1 || len(d.Blockers) != 2 {
		t.Errorf("%v waits for %d of %d tasks, want 1 of 2", ready, d.Task.OpenBlockers, len(d.Blockers))
	}
}

// forgetful is a board that has no landings of before an import.
type forgetful struct{ *board.Board }

func (forgetful) Intents(context.Context, board.IntentFilter) ([]board.Intent, error) {
	return nil, nil
}

// TestUndo_archived: of a task that was archived and imported only its result says that it has landed.
func TestUndo_archived(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	commit := git.Short(y.git("-C", y.dir, "rev-parse", "next"))
	_, err := Undo(t.Context(), &y.o, forgetful{y.board}, person, one, "", true)
	if e, ok := errors.AsType[*NotUndoneError](err); !ok || !strings.Contains(e.Why, "web-1 landed as commit "+commit) || !strings.Contains(e.Next, "git revert "+commit) {
		t.Errorf("Undo: %v", err)
	}
}

// TestUndo_part: what depends on a task that is done with the undone one as a part of it waits, too.
func TestUndo_part(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	create := func(n board.NewTask) board.ID {
		n.Project = "web"
		task, _, err := y.board.Create(t.Context(), y.actor, n, "")
		if err != nil {
			t.Fatal(err)
		}
		return task.ID
	}
	all := create(board.NewTask{Title: "all"})
	whole := create(board.NewTask{Title: "whole", Parent: all})
	part := create(board.NewTask{Title: "part", Parent: whole})
	onWhole := create(board.NewTask{Title: "on the whole", DependsOn: []board.ID{whole}})
	onAll := create(board.NewTask{Title: "on all", DependsOn: []board.ID{all, whole}})
	y.report("main", map[string]string{"a": "2\n"})
	y.land()
	y.status(part, board.Done)
	y.status(all, board.Done)
	done, err := Undo(t.Context(), &y.o, y.board, person, part, "", true)
	slices.SortFunc(done.Held, func(a, b board.ID) int { return int(a.No - b.No) })
	if err != nil || !slices.Equal(done.Held, []board.ID{onWhole, onAll}) || len(done.Begun) > 0 {
		t.Errorf("held %v, begun %v, %v, want %v and %v", done.Held, done.Begun, err, onWhole, onAll)
	}
	y.land()
	for _, id := range done.Held {
		if d := y.status(id, board.Pending); d.Task.OpenBlockers != 1 {
			t.Errorf("%v waits for %d tasks, want 1", id, d.Task.OpenBlockers)
		}
	}
}

// TestUndo_shallow: in a clone whose history is cut it is not known whether the target has the work.
func TestUndo_shallow(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	id := y.task("one", "main", map[string]string{"one": "1\n"})
	y.land()
	y.laptop(origin)
	sh(t, y.o.Repo.Root, "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; echo 2 > a; git commit -qam two; echo 3 > a; git commit -qam three; git push -q origin main")
	dir := t.TempDir()
	y.git("clone", "-q", "--depth", "1", "file://"+origin, dir)
	repo, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	y.git("-C", dir, "remote", "set-url", "origin", origin)
	y.o.Repo = repo
	_, err = Undo(t.Context(), &y.o, y.board, person, id, "", true)
	if err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("Undo = %v", err)
	}
}

// open lists the open tasks whose title begins in some way.
func (y *yard) open(prefix string) (ids []board.ID) {
	y.Helper()
	list, err := y.board.List(y.Context(), board.TaskFilter{Projects: []string{"web"}})
	if err != nil {
		y.Fatal(err)
	}
	for _, t := range list {
		if strings.HasPrefix(t.Title, prefix) && !t.Status.Terminal() {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// A pause stops the hand-out to workers, not what a person orders.
func TestUndo_paused(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	if err := y.board.Pause(t.Context(), person, "web"); err != nil {
		t.Fatal(err)
	}
	y.undo(one)
	y.land()
	y.has("a", "1")
}

// An undo that a remote repository has refused has handed out nothing, and goes on when it is ordered again.
func TestUndo_goesOn(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.land()
	hook := filepath.Join(origin, "hooks", "pre-receive")
	if err := os.MkdirAll(filepath.Dir(hook), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	stopped, err := Undo(t.Context(), &y.o, y.board, person, one, "it was wrong", true)
	if err == nil || stopped.Undo.IsZero() {
		t.Fatalf("Undo = %+v, %v, want the error of the push", stopped, err)
	}
	if h, err := y.board.Next(t.Context(), y.actor, board.Wish{Projects: []string{"web"}}); err == nil {
		t.Errorf("%v was handed out", h.Task.ID)
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	done, err := Undo(t.Context(), &y.o, y.board, person, one, "it was wrong", true)
	if err != nil || done.Undo != stopped.Undo || done.Status != board.Landing {
		t.Fatalf("Undo, again = %+v, %v, want %v", done, err, stopped.Undo)
	}
	if d := y.status(done.Undo, board.Landing); !strings.HasSuffix(d.Doc.Description, "Why: it was wrong") {
		t.Errorf("its description is %q", d.Doc.Description)
	}
	if list := y.open("Redo "); len(list) != 1 {
		t.Errorf("there are %v", list)
	}
	y.land()
	if files := y.git("-C", origin, "ls-tree", "--name-only", "main"); files != "a" {
		t.Errorf("the target has %q", files)
	}
}

// Two persons undo the same work at once, while workers wait: there is one task for it, and one that does it again.
func TestUndo_atOnce(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	ctx, stop := context.WithCancel(t.Context())
	var waiting, wg sync.WaitGroup
	for range 2 {
		waiting.Go(func() {
			h, err := y.board.Next(ctx, board.Actor{Principal: "bot"}, board.Wish{Projects: []string{"web"}, Wait: time.Minute})
			if err == nil {
				t.Errorf("%v %q was handed out", h.Task.ID, h.Task.Title)
			}
		})
	}
	for _, who := range []string{"ada", "bob", "ada"} {
		wg.Go(func() {
			done, err := Undo(t.Context(), &y.o, y.board, board.Actor{Principal: who, Person: true}, one, "", true)
			if e, ok := errors.AsType[*NotUndoneError](err); err != nil && !ok || err == nil && done.Status != board.Landing {
				t.Errorf("Undo by %s = %+v, %v, %v", who, done, err, e)
			}
		})
	}
	wg.Wait()
	stop()
	waiting.Wait()
	if list := y.open("Undo "); len(list) != 1 {
		t.Errorf("there are %v", list)
	}
	if list := y.open("Redo "); len(list) != 1 {
		t.Errorf("there are %v", list)
	}
	y.land()
	y.has("a", "1")
}

// overtaken is a board on which somebody else is faster to create a task.
type overtaken struct {
	UndoBoard
	first func()
}

func (o overtaken) Create(ctx context.Context, a board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error) {
	o.first()
	return o.UndoBoard.Create(ctx, a, n, key)
}

// Another person has undone the work, and reported that, between two steps of the same command: that is all that is made.
func TestUndo_overtaken(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	var undo board.ID
	b := overtaken{y.board, func() { undo, _ = y.undo(one) }}
	_, err := Undo(t.Context(), &y.o, b, board.Actor{Principal: "bob", Person: true}, one, "", true)
	if e, ok := errors.AsType[*NotUndoneError](err); !ok || e.Why != "web-1 is being undone already, by "+undo.String() {
		t.Errorf("Undo = %v", err)
	}
	if refs := y.git("-C", y.dir, "for-each-ref", "--format=%(refname)", "refs/bossman/"+undo.String()); refs != "refs/bossman/"+undo.String()+"/1" {
		t.Errorf("there is %q", refs)
	}
	if list := y.open("Undo "); len(list) != 1 {
		t.Errorf("there are %v", list)
	}
}

// After an undo was cancelled, the next one goes before the same task that does the work again.
func TestUndo_cancelled(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	undo, redo := y.undo(one)
	if _, err := y.board.Cancel(t.Context(), person, undo, "", board.DependentsKeep); err != nil {
		t.Fatal(err)
	}
	next, same := y.undo(one)
	if next == undo || same != redo {
		t.Errorf("undo %v, redo %v after %v, %v", next, same, undo, redo)
	}
	y.land()
	if d := y.status(redo, board.Pending); !d.Task.Ready() {
		t.Errorf("%v waits for %v", redo, d.Blockers)
	}
}

// An undo that conflicts, and that a worker reports as done without changes, has undone nothing: there can be another one.
func TestUndo_withoutChanges(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	y.task("two", "next", map[string]string{"a": "3\n"})
	y.land()
	undo, redo := y.undo(one)
	y.land()
	worker := board.Actor{Principal: "ada"}
	out, err := y.board.Next(t.Context(), worker, board.Wish{Projects: []string{"web"}, Task: undo})
	if err != nil || out == nil {
		t.Fatal(out, err)
	}
	if _, err := y.board.Done(t.Context(), worker, out.Claim.Handle, board.Report{Summary: "could not", NoChanges: true}); err != nil {
		t.Fatal(err)
	}
	y.status(undo, board.Done)
	next, same := y.undo(one)
	if next == undo || same != redo {
		t.Errorf("undo %v, redo %v after %v, %v", next, same, undo, redo)
	}
	if d := y.status(redo, board.Pending); d.Task.Ready() {
		t.Errorf("%v does not wait for %v", redo, next)
	}
}

// A person's own task with such a title is not what undoes the work.
func TestUndo_title(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"a": "2\n"})
	y.land()
	own, _, err := y.board.Create(t.Context(), person, board.NewTask{Project: "web", Title: "Undo web-1: the colour only"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if undo, _ := y.undo(one); undo == own.ID {
		t.Errorf("Undo = %v", undo)
	}
	y.land()
	y.has("a", "1")
}

// Work that an undo of its undo has brought back is undone with that one's task, which Undo names.
func TestUndo_broughtBack(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.land()
	undo := func(id board.ID) board.ID {
		t.Helper()
		undo, _ := y.undo(id)
		y.land()
		y.status(undo, board.Done)
		return undo
	}
	refused := func(next string) {
		t.Helper()
		_, err := Undo(t.Context(), &y.o, y.board, person, one, "", true)
		if e, ok := errors.AsType[*NotUndoneError](err); !ok || !strings.Contains(e.Next, next) {
			t.Errorf("Undo = %+v, want %q", err, next)
		}
	}
	first := undo(one)
	refused(" does it again: ")
	second := undo(first)
	refused("bossman land undo " + second.String())
	undo(second)
	refused(" does it again: ")
}

// An undo of an undo that changed nothing, because the work was done again before, has brought nothing back, and is not named as what to undo.
func TestUndo_broughtNothingBack(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.land()
	undo, redo := y.undo(one)
	y.land()
	if got := y.report("next", map[string]string{"one": "1\n"}); got != redo {
		t.Fatalf("%v was worked on", got)
	}
	y.land()
	y.status(redo, board.Done)
	nothing, _ := y.undo(undo)
	y.land()
	y.status(nothing, board.Done)
	_, err := Undo(t.Context(), &y.o, y.board, person, one, "", true)
	if e, ok := errors.AsType[*NotUndoneError](err); !ok || e.Why != "web-1 was undone already, by "+undo.String() || !strings.Contains(e.Next, redo.String()) {
		t.Errorf("Undo = %+v", err)
	}
}
