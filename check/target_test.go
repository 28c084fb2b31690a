//go:build unix

package check_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
)

// A field is a repository with a project that lands its work on main, and a worktree of it in which a worker has
// web-1.
type field struct {
	t    *testing.T
	main *git.Repo
	dir  string // the worktree
	i    *check.Inspector
	w    board.Work
}

func newField(t *testing.T) *field {
	f := &field{t: t, main: newRepo(t)}
	f.sh(f.main.Root, "git branch -M main")
	f.dir = filepath.Join(filepath.Dir(f.main.Root), "mine")
	f.sh(f.main.Root, "git worktree add -q -b mine ../mine")
	f.i = &check.Inspector{Dir: f.dir, Common: f.main.Common, Notes: t.TempDir()}
	f.begin()
	return f
}

// begin hands the task out where the inspector is.
func (f *field) begin() {
	f.t.Helper()
	h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	f.w = board.Work{Task: h.Task, Worker: "otter", First: h, Claim: h, Since: time.Now(), Place: f.i.Here(f.t.Context()), Land: "main"}
	if err := f.i.Begin(f.t.Context(), f.w); err != nil {
		f.t.Fatal(err)
	}
}

// sh runs a script in a directory, and returns what it prints.
func (f *field) sh(dir, script string) string {
	f.t.Helper()
	cmd := exec.Command("sh", "-ec", "git() { command git -c user.name=Ada -c user.email=a@b \"$@\"; }\n"+script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// land moves main as a lander does that has the work of another task.
func (f *field) land() (commit string) {
	f.t.Helper()
	old := f.main.Branch("main")
	next := f.sh(f.main.Root, "git worktree add -q --detach ../their main; cd ../their; echo theirs > theirs; git add theirs; git commit -qm theirs; git rev-parse HEAD; git worktree remove --force .")
	if _, err := f.main.Advance(f.t.Context(), git.Advance{Branch: "main", Old: old, New: next}, nil); err != nil {
		f.t.Fatal(err)
	}
	return next
}

// verify looks at a commit as evidence, at the place of the work as it is now.
func (f *field) verify(commit string) (seen bool, faults string) {
	f.t.Helper()
	f.w.Place = f.i.Here(f.t.Context())
	observed, list, err := f.i.Verify(f.t.Context(), f.w, []board.Evidence{{Kind: board.EvidenceCommit, Ref: commit}})
	if err != nil {
		f.t.Fatal(err)
	}
	return len(observed) == 1, strings.Join(list, " ")
}

// TestInspector_landed: what has landed is the work of another task, also on a branch that has merged it.
func TestInspector_landed(t *testing.T) {
	f := newField(t)
	ctx := t.Context()
	theirs := f.land()
	taken := func(board.Where, board.Idle) bool { return false }
	f.w.Place = f.i.Here(ctx)
	if places, _, err := f.i.Elsewhere(ctx, f.w, taken); err != nil || len(places) > 0 {
		t.Errorf("what has landed is taken for the work: %v, %v", places, err)
	}
	_, err := f.i.Place(ctx, f.w, "main")
	if e, ok := errors.AsType[*board.PlaceError](err); !ok || !strings.Contains(e.Why, "Work lands on branch") {
		t.Errorf("the target as the place of the work: %v", err)
	}
	for _, how := range []string{"git merge -q --ff-only main", "git reset -q --hard HEAD~1; git merge -q --no-ff -m merged main"} {
		f.sh(f.dir, how)
		for _, commit := range []string{f.sh(f.dir, "git rev-parse HEAD"), theirs} {
			if seen, faults := f.verify(commit); seen || !strings.Contains(faults, `is not in "main" already`) {
				t.Errorf("after %q, %s: seen %v, faults %q", how, commit, seen, faults)
			}
		}
		if _, idle, err := f.i.Elsewhere(ctx, f.w, taken); err != nil || idle != board.IdleAlways {
			t.Errorf("after %q it is not idle: %v, %v", how, idle, err)
		}
	}
	own := f.sh(f.dir, "echo mine > mine; git add mine; git commit -qm mine; git rev-parse HEAD")
	if seen, faults := f.verify(own); !seen || faults != "" {
		t.Errorf("own work: seen %v, faults %q", seen, faults)
	}
	if _, idle, err := f.i.Elsewhere(ctx, f.w, taken); err != nil || idle != board.NotIdle {
		t.Errorf("own work is idle: %v, %v", idle, err)
	}
}

// TestInspector_copied: a copy of what others have landed is no work, in whatever way it was made and though the target went on. What drops
// a part of it is.
func TestInspector_copied(t *testing.T) {
	f := newField(t)
	ctx := t.Context()
	theirs := f.land()
	f.sh(f.main.Root, "git worktree add -q --detach ../more main; cd ../more; echo more > more; git add more; git commit -qm more; git update-ref refs/heads/main HEAD; cd ..; rm -r more")
	for how, copied := range map[string]bool{
		"git merge -q --squash main && git commit -qm mine":                                                true,
		"git cherry-pick " + theirs + " >/dev/null && git commit -q --amend -m mine":                       true,
		"git checkout main -- theirs && git commit -qm mine":                                               true,
		"git checkout main -- theirs && echo mine > mine && git add mine && git commit -qm mine":           false,
		"git checkout main -- theirs more && git commit -qm mine && git rm -q more && git commit -qm less": false, // it lands on top of what it was built on
	} {
		f.sh(f.dir, "git reset -q --hard "+f.w.Place.Head)
		begun := f.w.Place
		f.sh(f.dir, how)
		commit := f.sh(f.dir, "git rev-parse HEAD")
		if tip, same, err := f.i.Tip(ctx, f.w, commit, "main"); err != nil || same != copied {
			t.Errorf("after %q: Tip = %+v, %v, %v; want %v", how, tip, same, err, copied)
		}
		if seen, faults := f.verify(commit); seen == copied || copied != strings.Contains(faults, `is not in "main" already`) {
			t.Errorf("after %q: seen %v, faults %q", how, seen, faults)
		}
		f.w.Place = begun
	}
}

// TestInspector_room: the worktree in which work is judged before it lands is nobody's place of work.
func TestInspector_room(t *testing.T) {
	f := newField(t)
	ctx := t.Context()
	room := f.main.Room()
	f.sh(f.main.Root, "git worktree add -q --detach "+room+"; cd "+room+"; git switch -qc fix; echo fix > fix; git add fix; git commit -qm fix")
	taken := func(board.Where, board.Idle) bool { return false }
	if places, _, err := f.i.Elsewhere(ctx, f.w, taken); err != nil || len(places) > 0 {
		t.Errorf("it is taken for the work: %v, %v", places, err)
	}
	_, err := f.i.Place(ctx, f.w, "fix")
	if e, ok := errors.AsType[*board.PlaceError](err); !ok || !strings.Contains(e.Why, "work is judged before it lands") {
		t.Errorf("the place of the work: %v", err)
	}
}

// TestInspector_OffTarget: work that was committed to the target itself is not reported as done until that is put
// back. A landing there is not the worker's commit, and what the worker has not committed is work.
func TestInspector_OffTarget(t *testing.T) {
	f := newField(t)
	ctx := t.Context()
	f.i.Dir = f.main.Root
	f.i.Notes = t.TempDir()
	f.begin()
	base := f.w.Place.Head
	off := func() string {
		f.w.Place = f.i.Here(ctx)
		err := f.i.OffTarget(ctx, f.w)
		if e, ok := errors.AsType[*board.PlaceError](err); ok {
			return e.Why + " " + e.Next
		}
		if err != nil {
			t.Fatal(err)
		}
		return ""
	}
	f.sh(f.main.Root, "echo loose > loose")
	if why := off(); why != "" {
		t.Errorf("without a commit: %s", why)
	}
	landed := f.land()
	if why := off(); why != "" {
		t.Errorf("after a landing: %s", why)
	}
	f.sh(f.main.Root, "echo mine > mine; git add mine; git commit -qm mine")
	if why := off(); !strings.Contains(why, `is in "main" already`) || !strings.Contains(why, "git switch -c web-1") || !strings.Contains(why, base) {
		t.Errorf("after a commit to main: %q", why)
	}
	f.sh(f.main.Root, "git switch -qc web-1")
	if why := off(); why == "" {
		t.Error("main still has it")
	}
	// Something more on the branch goes on, and reviewers are shown all of it.
	commit := f.sh(f.main.Root, "git add loose; git commit -qm loose; git rev-parse HEAD")
	if why := off(); why != "" {
		t.Errorf("with more work: %s", why)
	}
	tip, same, err := f.i.Tip(ctx, f.w, commit, "main")
	if err != nil || same || !strings.HasPrefix(tip.Base, base) {
		t.Errorf("Tip = %+v, %v, %v; want base %s", tip, same, err, base)
	}
	f.sh(f.main.Root, "git branch -qf main "+landed)
	tip, same, err = f.i.Tip(ctx, f.w, commit, "main")
	if err != nil || same || tip.Base != landed {
		t.Errorf("after main was put back: Tip = %+v, %v, %v; want base %s", tip, same, err, landed)
	}
}

// What another task has reported from another clone is known by the remote repository of the target.
func TestInspector_Includes_remote(t *testing.T) {
	f := newField(t)
	f.i.Accepts = func(string, string) bool { return true } // a remote repository on this machine
	origin := filepath.Join(t.TempDir(), "origin.git")
	base := f.sh(f.dir, "git rev-parse HEAD")
	other := f.sh(f.dir, "git commit -q --allow-empty -m other && git rev-parse HEAD")
	f.sh(f.dir, "git clone -q --bare . "+origin+" && git remote add origin "+origin+" && git push -q origin HEAD:refs/bossman/web-2/1")
	tip := board.Tip{Commit: f.sh(f.dir, "git commit -q --allow-empty -m own && git rev-parse HEAD"), Base: base}
	for _, shared := range []bool{false, true} { // as older versions push it, too
		if shared {
			f.sh(f.dir, "git push -q origin :refs/bossman/web-2/1 HEAD^:"+board.Handle{Task: board.ID{Project: "web", No: 2}, Attempt: 1}.SharedRef(other))
		}
		for _, x := range []struct {
			land, head string
			want       int
		}{{"main", other, 0}, {"origin/main", other, 1}, {"nowhere/main", other, 0}, {"origin/main", base, 0}} { // at last, web-2 is that of another board
			w := f.w
			w.Land = x.land
			list, err := f.i.Includes(t.Context(), w, tip, func(_ context.Context, id board.ID, _ int) (d board.Dossier, err error) {
				d.Task.ID = id
				d.Attempts = []board.Attempt{{Handle: board.Handle{Task: id, Attempt: 1}, Where: board.Where{Head: git.Short(x.head)}}}
				return d, nil
			})
			if err != nil || len(list) != x.want || x.want > 0 && (list[0].Commit != other || list[0].Task.No != 2) {
				t.Errorf("to land on %s: Includes() = %+v, %v; want %d", x.land, list, err, x.want)
			}
		}
	}
}
