package land

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// pullPage is the pull requests of a remote repository, by branch.
type pullPage map[string]Pull

func (p pullPage) View(_ context.Context, branch string) (Pull, error) { return p[branch], nil }

func (p pullPage) Create(_ context.Context, _, branch, _, _ string) (string, error) {
	p[branch] = Pull{State: PullOpen, URL: "https://example.org/new"}
	return p[branch].URL, nil
}

// newPullYard makes a yard whose project lands by pull requests, with a task in the queue, and returns its branch.
func newPullYard(t *testing.T) (y *yard, origin string, pulls pullPage, one board.ID, branch string) {
	t.Helper()
	y, origin = newRemoteYard(t, "", map[string]string{"a": "1\n"})
	if err := y.board.SetLand(t.Context(), y.actor, "web", "pr:main"); err != nil {
		t.Fatal(err)
	}
	y.o.Target = board.Target{Kind: board.TargetPR, Remote: "origin", Branch: "main"}
	pulls = pullPage{}
	y.o.Pulls = pulls
	one = y.task("one", "main", map[string]string{"one": "1\n"})
	tip := y.status(one, board.Landing).Doc.Result.Tip.Commit
	return y, origin, pulls, one, "bossman/web-1-1-" + tip[:8]
}

const whoPushes = "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "

// What a clone of the remote repository does, and the newest commit of a branch of it then.
func (y *yard) people(origin, line, branch string) string {
	y.Helper()
	dir := filepath.Join(y.TempDir(), "clone")
	y.git("clone", "-q", origin, dir)
	sh(y.T, dir, whoPushes+line)
	return y.git("-C", origin, "rev-parse", branch)
}

// The task web-1 of another board has a pull request, as older versions name its branch: it is not this board's, whatever becomes of it.
func TestPulls_otherBoard(t *testing.T) {
	for _, state := range []PullState{PullOpen, PullMerged, PullClosed} {
		y, origin, pulls, one, branch := newPullYard(t)
		head := y.people(origin, "git checkout -qb bossman/web-1-1; echo 2 > two; git add two; git commit -qm two -m 'Bossman-Task: web-1'; git push -q origin bossman/web-1-1", "bossman/web-1-1")
		other := Pull{State: state, URL: "https://example.org/other", Head: head}
		if state == PullMerged {
			y.git("-C", origin, "update-ref", "refs/heads/main", head)
			other.Merged = head
		}
		pulls["bossman/web-1-1"] = other
		y.land()
		y.status(one, board.Landing)
		if pulls[branch].State != PullOpen {
			t.Errorf("%s: there is no pull request of %s: %+v", state, branch, pulls)
		}
		if got := y.git("-C", origin, "rev-parse", "bossman/web-1-1"); got != head {
			t.Errorf("%s: the other branch is at %s", state, got)
		}
	}
}

// A pull request that an older version has made is known by its work, with what people have pushed on top of it.
func TestPulls_older(t *testing.T) {
	for _, more := range []string{"", "echo 2 > two; git add two; git commit -qm more; git push -q origin HEAD:bossman/web-1-1"} {
		y, origin, pulls, one, branch := newPullYard(t)
		y.land()
		const old = "bossman/web-1-1"
		head := y.people(origin, "git checkout -q "+branch+"; git push -q origin HEAD:"+old+" :"+branch+"; "+more, old)
		delete(pulls, branch)
		pulls[old] = Pull{State: PullMerged, URL: "https://example.org/1", Head: head, Merged: head}
		y.git("-C", origin, "update-ref", "refs/heads/main", head)
		y.land()
		y.status(one, board.Done)
		if refs := y.git("-C", origin, "for-each-ref", "--format=%(refname)", "refs/heads"); strings.Contains(refs, "bossman") {
			t.Errorf("after %q there is %q", more, refs)
		}
	}
}

// What people push on top of the work, or merge into it, leaves it the pull request of the task. Something else in its place does not.
func TestPulls_head(t *testing.T) {
	for name, c := range map[string]struct {
		push string // in a clone, on the branch of the pull request
		own  bool
	}{
		"as it is": {"true", true},
		"on top":   {"echo 2 > two; git add two; git commit -qm two", true},
		"updated":  {"git checkout -q main; echo 3 > three; git add three; git commit -qm three; git push -q origin main; git checkout -q -; git merge -q -m update main", true},
		"fixed":    {"echo 2 > one; git commit -qam fix", true},
		"rebased":  {"git checkout -q main; echo 3 > three; git add three; git commit -qm three; git push -q origin main; git checkout -q -; git rebase -q main", true},
		"replaced": {"git reset -q --hard main; echo 2 > two; git add two; git commit -qm two -m 'Bossman-Task: web-1'", false},
	} {
		for how, merge := range map[string]string{
			"forward": "git merge -q --ff-only -",
			"merge":   "git merge -q --no-ff -m merge -",
			"squash":  "git merge -q --squash -; git commit -qm squashed",
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				y, origin, pulls, one, branch := newPullYard(t)
				y.land()
				merged := y.people(origin, "git checkout -q "+branch+"; "+c.push+"; git push -qf origin HEAD:"+branch+"; git checkout -q main; "+merge+"; git push -q origin main", "main")
				pulls[branch] = Pull{State: PullMerged, URL: "https://example.org/1", Head: y.git("-C", origin, "rev-parse", branch), Merged: merged}
				y.people(origin, "echo 4 > four; git add four; git commit -qm four; git push -q origin main", "main")
				y.land()
				want := map[bool]board.Status{true: board.Done, false: board.Landing}[c.own]
				y.status(one, want)
				if c.own {
					return
				}
				line, err := y.board.Line(t.Context(), "web")
				if err != nil || len(line.Lander.Note.Waits) != 1 || !strings.Contains(line.Lander.Note.Waits[0].Why, "something else than its work") {
					t.Errorf("it waits: %+v, %v", line.Lander.Note, err)
				}
			})
		}
	}
}

// The trailers of another board in the target are not about tasks of this one with the same ids.
func TestLand_otherBoardsTrailers(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.land()
	landed := y.git("-C", origin, "rev-parse", "main")
	tip := y.people(origin, "echo 2 > two; git add two; git commit -qm two -m 'Bossman-Task: web-1'; two=$(git rev-parse HEAD); git rm -q two; "+
		"git commit -qm 'Undo web-1: two' -m \"Bossman-Undoes: web-1 $two\"; echo 3 > a; git commit -qam three -m 'Bossman-Task: web-1\nBossman-Undoes: web-1'; git push -q origin main", "main")
	two := y.task("two", "main", map[string]string{"a": "2\n"})
	y.land()
	for _, e := range y.status(two, board.Pending).Events {
		if r := e.Detail.Returned; r != nil && !r.Other.IsZero() {
			t.Errorf("the conflict is with %v", r.Other)
		}
	}
	had, err := New(&y.o).past(t.Context(), tip)
	if err != nil || len(had.undone) > 0 || len(had.landed) != 1 {
		t.Errorf("past = %+v, %v", had, err)
	}
	undone, err := Undo(t.Context(), &y.o, y.board, person, one, "", true)
	if err != nil || undone.Commit != landed {
		t.Fatalf("Undo = %+v, %v", undone, err)
	}
	y.land()
	y.status(undone.Undo, board.Done)
	tip = y.git("-C", origin, "rev-parse", "main")
	if had, err = New(&y.o).past(t.Context(), tip); err != nil || len(had.undone) != 1 || len(had.landed) != 1 {
		t.Errorf("past after the undo = %+v, %v", had, err)
	}
	if got := y.git("-C", origin, "log", "-1", "--format=%(trailers:key=Bossman-Undoes,valueonly)", "main"); got != undoesValue(one, landed) {
		t.Errorf("the undo says that it undoes %q", got)
	}
}

// Work on top of what another board has reported is not that of the task of this one with the same id.
func TestLand_includesOtherBoards(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	if _, err := y.board.Cancel(t.Context(), person, one, "never", board.DependentsKeep); err != nil {
		t.Fatal(err)
	}
	theirs := y.commit("main", "theirs", map[string]string{"theirs": "1\n"})
	y.git("-C", y.dir, "push", "-q", "origin", theirs+":"+git.SharedRef("refs/bossman/web-1/1", theirs), theirs+":refs/bossman/web-1/2")
	two := y.task("two", theirs, map[string]string{"two": "1\n"})
	y.share(two)
	y.laptop(origin)
	y.land()
	y.status(two, board.Done)
}
