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

// absorb is a script that moves the git directory of a submodule below the one of its repository.
func absorb(path string) string {
	return `d=$(git rev-parse --absolute-git-dir)/modules/` + path + ` && mkdir -p $(dirname $d) && mv ` + path + `/.git $d && echo gitdir: $d > ` + path + `/.git && git config -f $d/config core.worktree $PWD/` + path
}

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
		{"not added, with a new commit", "echo b > own/a && git -C own commit -qam b", "rm -rf own"},
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

// TestSnapshot_ownRepository shows that git does not run in a repository whose configuration can be
// changed by whoever works in the worktree: what has been looked at may be another one by then.
func TestSnapshot_ownRepository(t *testing.T) {
	for name, place := range map[string]string{
		"in its directory":      "true",
		"elsewhere in the tree": `mv lib/.git evil && echo gitdir: ../evil > lib/.git && git config -f evil/config core.worktree ../lib`,
		"outside":               `d=$(mktemp -d) && mv lib/.git $d/evil && echo gitdir: $d/evil > lib/.git && git config -f $d/evil/config core.worktree $PWD/lib`,
		"behind a link":         `mkdir -p .git/modules link && mv lib/.git .git/modules/lib && git config -f .git/modules/lib/config core.worktree $PWD/lib && rmdir link && ln -s .git/modules link && echo gitdir: ../link/lib > lib/.git`,
	} {
		t.Run(name, func(t *testing.T) {
			canary := filepath.Join(t.TempDir(), "canary")
			t.Setenv("RUN", "touch "+canary+"; cat")
			r, dir := newRepo(t)
			sh(t, dir, `git init -q lib && cd lib && echo a > a.txt && git add . && git commit -qm a && git config filter.seen.clean cat && cd .. &&
git config -f .gitmodules submodule.lib.path lib && git add .gitmodules lib && git commit -qm lib && echo '*.dat filter=zz' > lib/.gitattributes && echo y > lib/y.dat &&
`+place)
			// It has changed before the snapshot is stored.
			_, err := r.Snapshot(t.Context(), func(string) bool {
				sh(t, dir, `mkdir other && cp -R "$(git -C lib rev-parse --absolute-git-dir)" other/lib && git config -f other/lib/config filter.zz.clean "$RUN"
if test -L link; then rm link && ln -s other link; else cp other/lib/config "$(git -C lib rev-parse --absolute-git-dir)/config"; fi`)
				return true
			})
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(canary); err == nil {
				t.Error("a filter of the repository in the worktree ran")
			}
			if name == "behind a link" {
				return // it is a submodule
			}
			if got, err := r.Hidden(t.Context()); err != nil || !slices.Contains(got, `repositories of their own are in the place of submodules, and nobody has looked into them: "lib"`) {
				t.Errorf("Hidden = %q, %v", got, err)
			}
			if got, err := r.Inner(t.Context()); err != nil || !slices.Contains(got, "lib") {
				t.Errorf("Inner = %q, %v, want lib", got, err)
			}
			if got, err := r.Filters(t.Context()); err != nil || len(got) > 0 {
				t.Errorf("Filters = %q, %v, want none", got, err)
			}
		})
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
