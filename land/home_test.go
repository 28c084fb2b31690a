package land

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// stopped checks that the last event is that nothing lands, and why, and that the inbox says it.
func (y *yard) stopped(words ...string) {
	y.Helper()
	if n := len(y.events); n == 0 || y.events[n-1].Kind != Stopped {
		y.Fatalf("it reported %+v", y.events)
	}
	in, err := y.board.Inbox(y.Context(), "web")
	if err != nil || len(in.Landing) == 0 {
		y.Fatalf("inbox = %+v, %v", in.Landing, err)
	}
	for _, word := range append(words, "bossman land --from-here") {
		if text := y.events[len(y.events)-1].Text; !strings.Contains(text, word) || in.Landing[0].Why != text {
			y.Errorf("it says %q, and the inbox %q; want %q", text, in.Landing[0].Why, word)
		}
	}
	y.events = nil
}

// in makes the next tasks and runs be in a clone.
func (y *yard) in(dir string) {
	y.Helper()
	repo, err := git.Find(dir)
	if err != nil {
		y.Fatal(err)
	}
	y.dir, y.o.Repo = dir, repo
}

// The branch next of one clone is not that of another one: what lands first decides, and the other clone lands nothing
// that is not on top of it, nor does work begin there.
func TestLand_otherClone(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.o.Host = "ada-laptop"
	first, other := y.dir, filepath.Join(t.TempDir(), "web")
	y.git("clone", "-q", first, other)
	y.git("-C", other, "branch", "next")
	y.at = board.Where{Host: "ada-laptop", Dir: other}
	y.in(other)
	y.task("one", "next", map[string]string{"one": "1\n"})
	y.land()
	y.tells("landed web-1")

	y.in(first)
	y.at.Dir = first
	two := y.task("two", "next", map[string]string{"two": "1\n"})
	if tip, err := NewSource(y.board, "web", y.o.Repo, y.o.Target, nil).Tip(t.Context()); err == nil {
		t.Errorf("work begins at %s", tip)
	}
	y.land()
	y.stopped("with which web-1 landed last, on", other)
	if got := y.git("-C", first, "log", "--format=%s", "next"); got != "first" {
		t.Errorf("next has %q", got)
	}

	// What is not in the clone in which work lands is fetched.
	y.in(other)
	y.land()
	line, err := y.board.Line(t.Context(), "web")
	if err != nil || len(line.Lander.Note.Waits) != 1 || !strings.HasSuffix(line.Lander.Note.Waits[0].Why, "is not in this clone: git fetch "+first+" refs/bossman/web-2/1") {
		t.Fatalf("the queue is %+v, %v", line, err)
	}
	y.events = nil

	// The other one gets the branch, and lands on top of it.
	y.in(first)
	y.git("-C", first, "fetch", "-q", other, "next:next")
	y.land()
	y.events = nil
	y.status(two, board.Done)
	if got := y.git("-C", first, "log", "--format=%s", "next"); got != "two\none\nfirst" {
		t.Errorf("next has %q", got)
	}
	if _, err := NewSource(y.board, "web", y.o.Repo, y.o.Target, nil).Tip(t.Context()); err != nil {
		t.Error(err)
	}
	y.in(other)
	y.task("three", "next", map[string]string{"three": "1\n"})
	y.land()
	y.stopped("with which web-2 landed last, on", first)

	// A person lets landing go on there, and then it is that clone's.
	y.o.FromHere = true
	y.land()
	y.o.FromHere = false
	y.tells("moved", "landed web-3")
	y.in(first)
	y.task("four", "next", map[string]string{"four": "1\n"})
	y.land()
	y.stopped("with which web-3 landed last")
}

// A move that the lander of another clone has begun is not taken for one that was not made.
func TestLand_otherCloneDied(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	first, other := y.dir, filepath.Join(t.TempDir(), "web")
	y.git("clone", "-q", "--shared", first, other) // it has all objects
	y.git("-C", other, "branch", "next")
	id := y.task("one", "next", map[string]string{"one": "1\n"})
	l := New(&y.o)
	l.o.Board = dying{y.board}
	_ = l.Run(t.Context())
	y.events = nil
	y.in(other)
	y.land()
	y.stopped("with which web-1 was about to land")
	y.status(id, board.Landing)
	y.in(first)
	y.land()
	y.events = nil
	y.status(id, board.Done)
	if got := y.git("-C", first, "log", "--format=%s", "next"); got != "one\nfirst" {
		t.Errorf("next has %q", got)
	}
}

// dying is a board for a lander that dies after it has moved the target.
type dying struct{ *board.Board }

func (dying) Landed(context.Context, board.Actor, board.Lease, board.IntentID, map[board.ID]string) ([]board.Outcome, error) {
	return nil, errors.New("died")
}

// A fork has a branch of the same name: nothing lands there that is not on top of what has landed.
func TestLand_fork(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	fork := filepath.Join(filepath.Dir(origin), "fork.git")
	y.git("clone", "-q", "--bare", origin, fork)
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.share(one)
	y.land()
	y.tells("landed web-1")
	y.git("-C", y.dir, "remote", "set-url", "origin", fork)
	two := y.task("two", "main", map[string]string{"two": "1\n"})
	y.land()
	y.stopped("work lands on origin/main of", strings.TrimSuffix(origin, ".git"), strings.TrimSuffix(fork, ".git"), "does not have the work of web-1", "git remote set-url origin")
	y.status(two, board.Landing)
	if got := y.git("-C", fork, "log", "--format=%s", "main"); got != "first" {
		t.Errorf("the fork has %q", got)
	}

	// A fork that is up to date is still another repository.
	y.git("-C", fork, "fetch", "-q", origin, "main:main")
	y.land()
	y.stopped("does not have the work of web-1")
	y.status(two, board.Landing)
	if got := y.git("-C", fork, "log", "-1", "--format=%s", "main"); got != "one" {
		t.Errorf("the fork has %q", got)
	}

	// The same repository by another address is the same.
	same := filepath.Join(filepath.Dir(origin), "same.git")
	if err := os.Symlink(origin, same); err != nil {
		t.Fatal(err)
	}
	y.git("-C", y.dir, "remote", "set-url", "origin", same)
	y.share(two)
	y.land()
	y.tells("landed web-2")
	y.git("-C", y.dir, "remote", "set-url", "origin", origin)

	// The branch is put back: a person says that this is meant.
	y.git("-C", origin, "update-ref", "refs/heads/main", "main~1")
	three := y.task("three", "main", map[string]string{"three": "1\n"})
	y.land()
	y.stopped("put back")
	y.o.FromHere = true
	y.land()
	y.o.FromHere = false
	y.tells("moved", "moved", "landed web-3")
	y.status(three, board.Done)
	if got := y.git("-C", origin, "log", "--format=%s", "main"); got != "three\none\nfirst" {
		t.Errorf("origin has %q", got)
	}
	y.task("four", "main", map[string]string{"four": "1\n"})
	y.land()
	y.tells("landed web-4")
}

// A clone that leaves out files of old commits stops the queue, and says what to do.
func TestLand_partialClone(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	y.git("-C", origin, "config", "uploadpack.allowFilter", "true")
	id := y.task("one", "main", map[string]string{"one": "1\n"})
	y.share(id)
	part := filepath.Join(t.TempDir(), "web")
	y.git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+origin, part)
	y.in(part)
	y.land()
	if n := len(y.events); n == 0 || y.events[n-1].Kind != Stopped || !strings.Contains(y.events[n-1].Text, "this clone is partial") {
		t.Fatalf("it reported %+v", y.events)
	}
	if in, err := y.board.Inbox(t.Context(), "web"); err != nil || len(in.Landing) != 1 || !strings.Contains(in.Landing[0].Why, "git fetch") {
		t.Errorf("inbox = %+v, %v", in.Landing, err)
	}
	y.events = nil
	sh(t, part, "git config --unset remote.origin.partialclonefilter; git fetch -q --refetch")
	y.land()
	y.tells("landed web-1")
}

// A lander that goes on by itself in another clone leaves the lease to that of the right one.
func TestLand_otherCloneWatches(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	first, other := y.dir, filepath.Join(t.TempDir(), "web")
	y.git("clone", "-q", first, other)
	y.git("-C", other, "branch", "next")
	y.task("one", "next", map[string]string{"one": "1\n"})
	y.land()
	y.tells("landed web-1")
	two := y.task("two", "next", map[string]string{"two": "1\n"})

	y.in(other)
	stray := y.o
	stray.Watch, stray.Actor = true, board.Actor{Principal: "bob", Owner: "p-bob"}
	said := make(chan Event, 10)
	stray.Report = func(e Event) { said <- e }
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- New(&stray).Run(ctx) }()
	if e := <-said; e.Kind != Stopped {
		t.Errorf("it reported %+v", e)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		line, err := y.board.Line(t.Context(), "web")
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the lander is %+v, %v", line.Lander, err)
		}
		if !line.Lander.Until.After(line.Now) {
			break
		}
	}
	y.in(first)
	y.land()
	y.tells("landed web-2")
	y.status(two, board.Done)
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
