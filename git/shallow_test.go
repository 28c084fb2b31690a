package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// A file shallow that somebody has written cuts nothing off: what is in the history, where some work
// began, and whether a commit changes anything stay what they are.
func TestShallow_written(t *testing.T) {
	_, dir := newRepo(t)
	sh(t, dir, `git checkout -q -b work; for n in 1 2; do echo $n > n; git add n; git commit -qm $n; done; git tag begun
		git commit -q --allow-empty -m empty; git tag empty; echo 3 > n; git commit -qam 3; git tag tip`)
	main, begun, empty, tip := commitOf(t, dir, "main"), commitOf(t, dir, "begun"), commitOf(t, dir, "empty"), commitOf(t, dir, "tip")
	sh(t, dir, `git checkout -q -b side main; echo side > side; git add side; git commit -qm side; git checkout -q work; git merge -q -m side side; git tag merged`)
	merged := commitOf(t, dir, "merged")
	all := strings.Fields(sh(t, dir, "git rev-list --all"))
	for name, cut := range map[string][]string{"one": {empty}, "tip": {tip}, "merged": {merged}, "all": all, "none": nil} {
		t.Run(name, func(t *testing.T) {
			slices.Sort(cut)
			if err := os.WriteFile(filepath.Join(dir, ".git", "shallow"), []byte(strings.Join(cut, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := git.Find(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.MergeBase(t.Context(), begun, merged); err != nil || got != begun {
				t.Errorf("the work began from %q, %v, want %q", got, err, begun)
			}
			if in, err := r.Contains(t.Context(), merged, main); err != nil || !in {
				t.Errorf("the first commit is in the work: %t, %v", in, err)
			}
			if fresh, err := r.IsNew(t.Context(), begun, []string{tip}); err != nil || fresh {
				t.Errorf("a commit that was there is new: %t, %v", fresh, err)
			}
			if changes, err := r.Changes(t.Context(), empty); err != nil || changes {
				t.Errorf("an empty commit changes something: %t, %v", changes, err)
			}
			if list, err := r.Log(t.Context(), main, merged, "X"); err != nil || len(list) != 5 {
				t.Errorf("%d commits since the first one, %v", len(list), err)
			}
		})
	}
}

// What a clone does not have is not judged, be it that it was cloned so, or that somebody has deleted it. All else
// is as in a whole clone.
func TestShallow_clone(t *testing.T) {
	_, dir := newRepo(t)
	sh(t, dir, `for n in 1 2 3; do echo $n > n; git add n; git commit -qm $n; done; git checkout -q -b other HEAD~1; echo > o; git add o; git commit -qm o; git checkout -q main`)
	base := filepath.Dir(dir)
	at := filepath.Join(base, "shallow")
	sh(t, base, "git clone -q --no-single-branch --depth 1 file://"+dir+" shallow; cd shallow; git checkout -q -b work; echo w > w; git add w; git commit -qm w")
	r, err := git.Find(at)
	if err != nil {
		t.Fatal(err)
	}
	main, work, other := commitOf(t, at, "main"), commitOf(t, at, "work"), commitOf(t, at, "origin/other")
	whole := func() {
		t.Helper()
		if got, err := r.MergeBase(t.Context(), main, work); err != nil || got != main {
			t.Errorf("the work began from %q, %v, want %q", got, err, main)
		}
		if changes, err := r.Changes(t.Context(), work); err != nil || !changes {
			t.Errorf("the work changes something: %t, %v", changes, err)
		}
		if fresh, err := r.IsNew(t.Context(), work, []string{main, other}); err != nil || !fresh {
			t.Errorf("the work is new: %t, %v", fresh, err)
		}
	}
	whole()
	if _, err := r.MergeBase(t.Context(), other, work); !isHistory(err) {
		t.Errorf("where two branches went apart that have no history: %v", err)
	}
	if _, err := r.Changes(t.Context(), main); !isHistory(err) {
		t.Errorf("what a commit changes whose parent is not there: %v", err)
	}

	// The parent of a commit is there, from an earlier fetch, and the parent of that is not.
	sh(t, dir, "echo 4 > n; git commit -qam 4")
	sh(t, at, "git fetch -q --depth 1 origin main; git rev-parse FETCH_HEAD > .git/shallow; git rev-parse origin/other >> .git/shallow; git checkout -q -B work FETCH_HEAD; echo v > w; git add w; git commit -qm v; git branch -qD main; git update-ref -d refs/remotes/origin/main; git update-ref -d refs/remotes/origin/HEAD; rm -rf .git/logs")
	if r, err = git.Find(at); err != nil {
		t.Fatal(err)
	}
	main, work = commitOf(t, at, "FETCH_HEAD"), commitOf(t, at, "work")
	whole()

	// More history comes with a fetch, also by Bossman.
	if _, err := r.FetchBranch(t.Context(), "origin", "main", origin); err != nil {
		t.Fatal(err)
	}
	whole()
	sh(t, at, "git fetch -q --unshallow")
	if r, err = git.Find(at); err != nil {
		t.Fatal(err)
	}
	if got, err := r.MergeBase(t.Context(), other, work); err != nil || got != sh(t, dir, "git merge-base main other") {
		t.Errorf("with all history, other and work went apart at %q, %v", got, err)
	}
}

// An agent that deletes a commit of its own, so that its work seems to have begun earlier, is not believed.
func TestShallow_deleted(t *testing.T) {
	_, dir := newRepo(t)
	sh(t, dir, `git checkout -q -b work; echo fix > fix; git add fix; git commit -qm fix; git tag begun
		echo 1 > w; git add w; git commit -qm 1; git tag gone; echo 2 > w; git rm -q fix; git commit -qam 2; git tag cut
		git checkout -q -b old main; echo old > old; git add old; git commit -qm old; git checkout -q work; git merge -q -m tip old`)
	gone, cut := commitOf(t, dir, "gone"), commitOf(t, dir, "cut")
	begun, tip := commitOf(t, dir, "begun"), commitOf(t, dir, "work")
	sh(t, dir, "git tag -d gone cut >/dev/null; rm -f .git/objects/"+gone[:2]+"/"+gone[2:]+"; echo "+cut+" > .git/shallow; git merge-base begun work")
	r, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if base, err := r.MergeBase(t.Context(), begun, tip); !isHistory(err) {
		t.Errorf("the work began from %q, %v; want a *HistoryError", base, err)
	}
}

func isHistory(err error) bool { _, ok := errors.AsType[*git.HistoryError](err); return ok }
