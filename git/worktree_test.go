package git_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWorktree(t *testing.T) {
	r, dir := newRepo(t)
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	two, gone := filepath.Join(top, "two"), filepath.Join(top, "gone")
	sh(t, dir, "git worktree add -q -b two "+two+" && git worktree add -q -b gone "+gone+" && git branch nowhere")
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, two} {
		r = find(t, from)
		for branch, want := range map[string]string{"main": dir, "two": two, "gone": "", "nowhere": "", "nosuch": "", "../main": ""} {
			got := ""
			if w := r.Worktree(branch, dir); w != nil {
				got = w.Root
			}
			if got != want {
				t.Errorf("from %s, Worktree(%q) = %q, want %q", from, branch, got, want)
			}
		}
	}
	sh(t, two, "git checkout -q --ignore-other-worktrees main")
	for _, prefer := range []string{dir, two} {
		if w := r.Worktree("main", prefer); w == nil || w.Root != prefer {
			t.Errorf("of two worktrees on main, Worktree prefers %v, want %s", w, prefer)
		}
	}
}

func TestChanges(t *testing.T) {
	r, dir := newRepo(t)
	for script, want := range map[string]bool{
		"true":                             true, // the first commit
		"git commit -q --allow-empty -m x": false,
		"echo two > one && git commit -qam x && git checkout -q -b side HEAD~1 && echo s > side && git add . && git commit -qm s && git merge -q --no-edit main": true,
	} {
		commit := sh(t, dir, script+" && git rev-parse HEAD")
		if got, err := r.Changes(t.Context(), commit); got != want || err != nil {
			t.Errorf("%s: Changes = %v, %v, want %v", script, got, err, want)
		}
		sh(t, dir, "git checkout -q main && git reset -q --hard $(git rev-list --max-parents=0 HEAD) && git branch -q -D side || true")
	}
}
