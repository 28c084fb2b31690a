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

// TestSnapshot_submodule shows that a snapshot has what is in submodules, committed or not,
// also where git itself does not look, and that nothing but filters is run for it.
func TestSnapshot_submodule(t *testing.T) {
	r, dir := newRepo(t)
	lib := t.TempDir()
	sh(t, lib, "git init -q -b main . && echo broken > code && echo ignored > .gitignore && git add . && git commit -qm lib")
	deep := t.TempDir()
	sh(t, deep, "git init -q -b main . && echo deep > deep && git add . && git commit -qm deep")
	sh(t, lib, "git -c protocol.file.allow=always submodule add -q "+deep+" deep && git commit -qm deep")
	sh(t, dir, "git -c protocol.file.allow=always submodule add -q "+lib+" lib && git -c protocol.file.allow=always submodule update -q --init --recursive && git commit -qm lib")
	clean, err := r.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if head := sh(t, dir, "git rev-parse HEAD^{tree}"); clean.Tree != head {
		t.Fatalf("Snapshot of clean submodules = %s, want the tree of HEAD, %s", clean.Tree, head)
	}
	sh(t, dir, "git config -f .gitmodules submodule.lib.ignore all && git commit -qam ignore")
	clean, _ = r.Snapshot(t.Context(), nil)
	ran := filepath.Join(t.TempDir(), "ran")
	sh(t, dir+"/lib", "printf '#!/bin/sh\\ntouch "+ran+"\\n' > ../.git/evil && chmod +x ../.git/evil && git config core.fsmonitor "+dir+"/.git/evil && git config core.hooksPath "+dir+"/.git")
	seen := map[string]string{clean.Tree: "clean"}
	for _, c := range []struct{ name, do, undo string }{
		{"modified", "echo fixed > lib/code", "echo broken > lib/code"},
		{"modified otherwise", "echo fixed again > lib/code", "echo broken > lib/code"},
		{"untracked", "echo fixed > lib/new", "rm lib/new"},
		{"assumed unchanged", "git -C lib update-index --assume-unchanged code; echo fix > lib/code", "echo broken > lib/code"},
		{"nested", "echo fixed > lib/deep/deep", "echo deep > lib/deep/deep"},
		{"without repository", "mv lib/.git moved-away; mv moved-away .git/; echo fixed > lib/code", "echo broken > lib/code; mv .git/moved-away lib/.git"},
		{"not added", "git init -q own && echo a > own/a && git -C own add a && git -C own commit -qm a", "true"},
		{"not added, modified", "echo b > own/a", "rm -rf own"},
	} {
		sh(t, dir, c.do)
		os.Remove(ran)
		s, err := r.Snapshot(t.Context(), nil)
		if err != nil {
			t.Fatalf("Snapshot, %s: %v", c.name, err)
		}
		if before, ok := seen[s.Tree]; ok {
			t.Errorf("Snapshot, %s: same tree as %s", c.name, before)
		}
		seen[s.Tree] = c.name
		want := "lib (submodule)"
		if strings.HasPrefix(c.name, "not added") {
			want = "own (submodule)"
		}
		if c.name == "without repository" {
			want = "lib/code"
		}
		if got, err := r.Changed(t.Context(), clean.Tree, s.Tree, 10); err != nil || !slices.Contains(got, want) {
			t.Errorf("Changed, %s = %v, %v, want %s", c.name, got, err, want)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("Snapshot, %s: it ran a program that the submodule configures", c.name)
		}
		sh(t, dir, c.undo)
	}
	if s, err := r.Snapshot(t.Context(), nil); err != nil || s.Tree != clean.Tree {
		t.Errorf("Snapshot at the end = %v, %v, want %s", s.Tree, err, clean.Tree)
	}
	sh(t, dir, "mv lib/.git .git/away && git init -q .git/other && echo gitdir: $PWD/.git/other/.git > lib/.git && git -C lib commit -q --allow-empty -m x")
	if s, err := r.Snapshot(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "submodule \"lib\"") {
		t.Errorf("Snapshot with the repository of another directory = %v, %v, want an error", s, err)
	}
	sh(t, dir, "rm lib/.git && mv .git/away lib/.git")
	sh(t, dir, "mkdir -p .git/modules/lib/info && echo hidden > .git/modules/lib/info/exclude && touch lib/hidden")
	if got, err := r.Hidden(t.Context()); err != nil || !slices.Contains(got, `in submodule "lib" .git/info/exclude leaves out "hidden"`) {
		t.Errorf("Hidden = %q, %v, want the exclude of lib", got, err)
	}
}

// TestSnapshot_nestedWorktree shows that a worktree inside another one is not a part of it.
func TestSnapshot_nestedWorktree(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "git worktree add -q nested")
	s, err := r.Snapshot(t.Context(), nil)
	if head := sh(t, dir, "git rev-parse HEAD^{tree}"); err != nil || s.Tree != head {
		t.Errorf("Snapshot = %s, %v, want the tree of HEAD, %s", s.Tree, err, head)
	}
	if got, err := r.Hidden(t.Context()); err != nil || !slices.Equal(got, []string{`the worktree "nested/" is left out`}) {
		t.Errorf("Hidden = %q, %v, want the worktree", got, err)
	}
	sh(t, dir, "echo nested > .gitignore")
	if got, err := r.Hidden(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("Hidden = %q, %v, want nothing: the project ignores the worktree", got, err)
	}
}

// What git add cannot take is told apart from what is wrong with the repository.
func TestSnapshot_odd(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "git init -q app && touch app/x")
	if _, err := r.Snapshot(t.Context(), nil); !errors.Is(err, git.ErrNoCommitInside) || !strings.Contains(err.Error(), "app/") {
		t.Errorf("Snapshot with a repository without a commit = %v", err)
	}
	sh(t, dir, "rm -rf app; mkdir in out; touch in/a out/b; git add .; git commit -qm more; git sparse-checkout set in; mkdir -p out; echo new > out/c")
	s, err := r.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatalf("Snapshot of a sparse checkout: %v", err)
	}
	if got := sh(t, dir, "git ls-tree -r --name-only "+s.Tree); !strings.Contains(got, "out/c") || !strings.Contains(got, "out/b") {
		t.Errorf("Snapshot of a sparse checkout has %q", got)
	}
}
