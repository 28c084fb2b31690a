package git_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What has been begun in a worktree and not ended is known there, and not in the others.
func TestUnderWay(t *testing.T) {
	r, dir := newRepo(t)
	two := filepath.Join(filepath.Dir(dir), "two")
	sh(t, dir, "echo m > one && git commit -qam m && git worktree add -q -b two "+two+" HEAD~1")
	sh(t, two, "echo t > one && git commit -qam t && echo u > one && git commit -qam u && git format-patch -q -1 HEAD~1 --stdout > ../patch")
	for _, x := range []struct{ begin, end, want string }{
		{"git merge -q main", "git merge --abort", "a merge"},
		{"git cherry-pick main", "git cherry-pick --abort", "a cherry-pick"},
		{"git revert --no-edit HEAD~1", "git revert --abort", "a revert"},
		{"git rebase -q main", "git rebase --abort", "a rebase"},
		{"git rebase -q --apply main", "git rebase --abort", "a rebase"},
		{"git am -q ../patch", "git am --abort", "a git am"},
		{"git bisect start", "git bisect reset", "a bisect"},
	} {
		sh(t, two, x.begin+" || true")
		if got := find(t, two).UnderWay(); got != x.want {
			t.Errorf("after %s, UnderWay = %q, want %q", x.begin, got, x.want)
		}
		if got := r.UnderWay(); got != "" {
			t.Errorf("after %s elsewhere, UnderWay = %q", x.begin, got)
		}
		sh(t, two, x.end)
		if got := find(t, two).UnderWay(); got != "" {
			t.Errorf("after %s, UnderWay = %q", x.end, got)
		}
	}
}

// Branches are found loose and packed, as they are now, and their logs say when they were made.
func TestBranches(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "git branch old && git branch feat/a && git pack-refs --all && git branch late && git commit -q --allow-empty -m two")
	want := strings.Fields(sh(t, dir, "git for-each-ref --format='%(refname:short)=%(objectname)' refs/heads"))
	var got []string
	branches := r.Branches()
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		got = append(got, name+"="+branches[name])
	}
	if !slices.Equal(got, want) {
		t.Errorf("Branches = %q, want %q", got, want)
	}
	if at := r.Made("late"); time.Since(at) > time.Hour || at.After(time.Now()) {
		t.Errorf("late was made at %v", at)
	}
	for _, name := range []string{"nosuch", "../HEAD", ""} {
		if at := r.Made(name); !at.IsZero() {
			t.Errorf("%q was made at %v", name, at)
		}
	}
}

// A worktree that lies in another one is no file of it.
func TestStatus_inside(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "git worktree add -q -b in .claude/worktrees/in")
	before, err := r.Loose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "touch .claude/worktrees/in/half")
	now, err := r.Loose(t.Context())
	if err != nil || now.Sum() != before.Sum() {
		t.Errorf("a file in the worktree inside changes Loose, %v", err)
	}
	if s, err := r.Status(t.Context()); err != nil || s.Uncommitted != 0 {
		t.Errorf("Status = %+v, %v, want nothing uncommitted", s, err)
	}
	sh(t, dir, "touch .claude/settings")
	if s, err := r.Status(t.Context()); err != nil || s.Uncommitted != 1 {
		t.Errorf("Status = %+v, %v, want one file", s, err)
	}
}

func TestHeld(t *testing.T) {
	for name, c := range map[string]struct{ begin, end string }{
		"rebase":         {"git rebase -q --merge theirs", "git rebase --abort"},
		"rebase --apply": {"git rebase -q --apply theirs", "git rebase --abort"},
		"bisect":         {"git bisect start HEAD HEAD~1", "git bisect reset"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			two := filepath.Join(filepath.Dir(dir), "two")
			sh(t, dir, "git worktree add -q -b fix "+two+" && git checkout -q -b theirs && echo theirs > f && git add f && git commit -q -m theirs")
			sh(t, two, "echo fix > f && git add f && git commit -q -m fix && { "+c.begin+" || true; } >&2")
			if got := r.Held("fix"); got == nil || got.Root != two {
				t.Errorf("Held(fix) = %+v, want %s", got, two)
			}
			for _, branch := range []string{"theirs", "main", ""} {
				if got := r.Held(branch); got != nil {
					t.Errorf("Held(%q) = %s, want none", branch, got.Root)
				}
			}
			sh(t, two, "git reset -q --hard && "+c.end)
			if got := r.Held("fix"); got != nil {
				t.Errorf("afterwards, Held(fix) = %s, want none", got.Root)
			}
		})
	}
}
