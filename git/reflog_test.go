package git_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestFetched: what was pulled is told from what was made here.
func TestFetched(t *testing.T) {
	_, dir := newRepo(t)
	base := filepath.Dir(dir)
	sh(t, base, "git clone -q --bare repo origin.git && git clone -q origin.git a && git clone -q origin.git b")
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	commit := func(dir, name string) string {
		return sh(t, dir, "echo "+name+" > new-"+name+" && git add . && git commit -qm "+name+" && git rev-parse HEAD")
	}
	want := map[string]bool{} // by commit
	push := func(name string) {
		want[commit(a, name)] = true
		sh(t, a, "git push -q")
	}
	push("one")
	push("two")
	sh(t, b, "git pull -q --ff-only") // below the tip, and the tip
	want[commit(b, "here")] = false
	want[sh(t, b, "git commit -q --amend -m again && git rev-parse HEAD")] = false
	push("three")
	push("four")
	for n, pull := range []string{"git pull -q --rebase", "git fetch -q && git rebase -q origin/main", "git pull -q --no-rebase --no-edit"} {
		want[sh(t, b, pull+" && git rev-parse HEAD")] = false
		sh(t, b, "git push -q")
		sh(t, a, "git pull -q --rebase") // which brings only the commits of others
		push(fmt.Sprint("a", n))
		want[commit(b, fmt.Sprint("b", n))] = false
	}
	sh(t, b, "git pull -q --rebase")
	// A branch that was merged, and whose worktree and branch are gone.
	sh(t, b, "git worktree add -q -b feat ../feat")
	want[commit(filepath.Join(base, "feat"), "below")], want[commit(filepath.Join(base, "feat"), "feat")] = false, false
	sh(t, b, "git merge -q feat && git worktree remove ../feat && git branch -q -d feat")
	// From another clone, without a remote.
	theirs := commit(a, "direct")
	want[theirs], want[commit(a, "direct2")] = true, true
	sh(t, b, "git fetch -q ../a HEAD && git merge -q FETCH_HEAD -m merged")

	r := find(t, b)
	for c, want := range want {
		if got, err := r.Fetched(t.Context(), c); err != nil || got != want {
			t.Errorf("Fetched(%s) = %v, %v; want %v", sh(t, b, "git log -1 --format=%s "+c), got, err, want)
		}
	}
}

// TestLeft: a worktree that had a branch is found by its log.
func TestLeft(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "git worktree add -q -b a ../wt-a && git worktree add -q -b b ../wt-b && cd ../wt-a && git checkout -q -b a2 && cd ../wt-b && git branch -m b2")
	for branch, want := range map[string]string{"a": "a2", "b": "b2"} {
		w := r.Left(branch)
		if w == nil {
			t.Errorf("Left(%s) = nil", branch)
			continue
		}
		if head, err := w.Head(); err != nil || head.Branch != want {
			t.Errorf("Left(%s) has %v, %v, want %s", branch, head, err, want)
		}
	}
	if w := r.Left("nothing"); w != nil {
		t.Errorf("Left(nothing) = %v", w)
	}
}

// TestDetached: commits that were made without a branch are found by the log, and those that a ref has
// are told from the others.
func TestDetached(t *testing.T) {
	r, dir := newRepo(t)
	commit := func(name string) string {
		return sh(t, dir, "git commit -q --allow-empty -m "+name+" && git rev-parse HEAD")
	}
	sh(t, dir, "git branch -M main")
	commit("on-main")
	sh(t, dir, "git checkout -q --detach")
	commit("below")
	left := commit("left")
	sh(t, dir, "git checkout -q main && git checkout -q --detach")
	commit("dropped")
	sh(t, dir, "git reset -q --hard HEAD~1")
	kept := commit("kept")
	sh(t, dir, "git checkout -q -b kept && git checkout -q --detach main")
	now := commit("now")
	want := map[string]bool{left: false, kept: true, now: false}
	got := r.Detached()
	if len(got) != len(want) {
		t.Errorf("Detached() = %v, want %v", got, want)
	}
	for c, in := range want {
		if got[c].IsZero() {
			t.Errorf("Detached() = %v, want %s in it", got, c)
		}
		if inRefs, err := r.InRefs(t.Context(), c); err != nil || inRefs != in {
			t.Errorf("InRefs(%s) = %v, %v; want %v", c, inRefs, err, in)
		}
	}
}

// TestMadeOn: the log of a branch has the commits that were made on it, also after it was put back, but not what was amended; of several commits
// those are independent that no other one contains.
func TestMadeOn(t *testing.T) {
	r, dir := newRepo(t)
	commit := func(options string) string {
		return sh(t, dir, "git commit -q --allow-empty "+options+" && git rev-parse HEAD")
	}
	sh(t, dir, "git branch -M main")
	commit("-m before")
	sh(t, dir, "git checkout -q -b feat")
	below := commit("-m below")
	old := commit("-m old")
	back := commit("--amend -m back")
	sh(t, dir, "git reset -q --hard HEAD~1")
	tip := commit("-m tip")
	sh(t, dir, "git checkout -q main")
	for _, got := range []map[string]time.Time{r.MadeOn("feat"), r.MadeHere()} {
		for _, c := range []string{below, back, tip} {
			if got[c].IsZero() {
				t.Errorf("the commits that were made are %v, want %s among them", got, c)
			}
		}
		if !got[old].IsZero() {
			t.Errorf("the commits that were made are %v, want %s not among them", got, old)
		}
	}
	if got := r.MadeOn("nothing"); len(got) > 0 {
		t.Errorf("MadeOn(nothing) = %v", got)
	}
	got, err := r.Independent(t.Context(), []string{below, back, tip})
	slices.Sort(got)
	if want := slices.Sorted(slices.Values([]string{back, tip})); err != nil || !slices.Equal(got, want) {
		t.Errorf("Independent = %v, %v; want %v", got, err, want)
	}
	for branch, want := range map[string]bool{"main": true, "feat": true, "nothing": false} {
		if got := r.HadBranch(branch); got != want {
			t.Errorf("HadBranch(%s) = %v, want %v", branch, got, want)
		}
	}
}
