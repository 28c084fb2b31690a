package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// withSubmodule makes a repository with submodule lib, which has submodule deep, and a worktree
// beside it with both checked out.
func withSubmodule(t *testing.T) (r *git.Repo, slot *git.Repo, dir string) {
	t.Helper()
	r, dir = newRepo(t)
	deep, lib := t.TempDir(), t.TempDir()
	sh(t, deep, "git init -q -b main . && echo deep > deep && git add . && git commit -qm deep")
	sh(t, lib, "git init -q -b main . && echo code > code && echo ignored > .gitignore && git -c protocol.file.allow=always submodule add -q "+deep+" deep && git add . && git commit -qm lib")
	sh(t, dir, "git -c protocol.file.allow=always submodule add -q "+lib+" lib && git commit -qm lib")
	dir = filepath.Join(filepath.Dir(dir), "slot")
	slot, err := r.AddWorktree(t.Context(), dir, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "git -c protocol.file.allow=always submodule update -q --init --recursive")
	return r, slot, dir
}

// TestStore_submodule: the entry of a submodule in a commit is a commit that was checked out there,
// whatever is not committed in it, and nothing of that is lost.
func TestStore_submodule(t *testing.T) {
	_, w, dir := withSubmodule(t)
	head := sh(t, dir, "git rev-parse HEAD")
	lib := sh(t, dir, "git -C lib rev-parse HEAD")
	for n, c := range []struct {
		name, do, undo string
		want           []string
		sub, kept      string // the file with what is not committed
	}{
		{"clean", "true", "true", nil, "", ""},
		{"untracked file", "mkdir lib/build && echo more > lib/build/x", "rm -r lib/build", []string{"lib"}, "lib", "build/x"},
		{"changed file", "echo more > lib/code", "git -C lib checkout -q .", []string{"lib"}, "lib", "code"},
		{"deep", "echo more > lib/deep/deep", "git -C lib/deep checkout -q .", []string{"lib"}, "lib/deep", "deep"},
	} {
		ref := fmt.Sprintf("refs/bossman/web-1/%d", n)
		sh(t, dir, c.do)
		snap, err := w.Snapshot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []git.Snapshot{{}, snap} {
			stored, err := w.Store(t.Context(), nil, s, ref, "work")
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if stored.Commit != head {
				t.Errorf("%s: commit %s, want what is checked out, %s: %s", c.name, stored.Commit, head, sh(t, dir, "git ls-tree "+stored.Commit))
			}
			if !slices.Equal(stored.Submodules, c.want) || stored.Inner != nil {
				t.Errorf("%s: submodules %q, inner %q; want %q and none", c.name, stored.Submodules, stored.Inner, c.want)
			}
		}
		if c.sub != "" {
			if got := sh(t, dir, "cd "+c.sub+" && git show "+ref+":"+c.kept+" && git rev-parse "+ref+"^"); got != "more\n"+sh(t, dir, "git -C "+c.sub+" rev-parse HEAD") {
				t.Errorf("%s: %s keeps %q", c.name, c.sub, got)
			}
		}
		// CommitTree makes no other entries.
		if commit, err := w.CommitTree(t.Context(), snap.Tree, []string{head}, "work"); err != nil || sh(t, dir, "git rev-parse "+commit+":lib") != lib {
			t.Errorf("%s: CommitTree = %s, %v: %s", c.name, commit, err, sh(t, dir, "git ls-tree "+commit))
		}
		sh(t, dir, c.undo)
	}
	// A commit of the submodule that nobody has pushed, with a change on top, beside a file.
	sh(t, dir, "cd lib && echo mine > mine && git add . && git commit -qm mine && echo y > y && cd .. && echo two > two")
	const ref = "refs/bossman/web-2/1"
	mine := sh(t, dir, "git -C lib rev-parse HEAD")
	stored, err := w.Store(t.Context(), nil, git.Snapshot{}, ref, "work")
	if err != nil || !slices.Equal(stored.Submodules, []string{"lib"}) {
		t.Fatalf("Store = %+v, %v", stored, err)
	}
	if got := sh(t, dir, "git rev-parse "+stored.Commit+":lib "+stored.Commit+"^; git show "+stored.Commit+":two"); got != mine+"\n"+head+"\ntwo" {
		t.Errorf("the stored commit has %s, want the submodule's commit %s on %s", got, mine, head)
	}
	sh(t, dir, "rm lib/y")
	if stored, err = w.Store(t.Context(), nil, git.Snapshot{}, ref, "work"); err != nil || !slices.Equal(stored.Submodules, []string{"lib"}) {
		t.Errorf("Store with a commit that was not pushed = %+v, %v", stored, err)
	}
	if got := sh(t, dir, "git -C lib show "+ref+":y; git -C lib rev-parse "+ref+"-"+git.Short(mine)); got != "y\n"+mine {
		t.Errorf("the submodule keeps %s, want y and, beside it, its own commit %s", got, mine)
	}
	sh(t, dir, "git -C lib push -q origin HEAD:refs/heads/mine")
	if stored, err = w.Store(t.Context(), nil, git.Snapshot{}, ref, "work"); err != nil || stored.Submodules != nil {
		t.Errorf("Store with a commit that was pushed = %+v, %v", stored, err)
	}
}

// TestStore_inner: repositories in the worktree that are no submodules are listed, and the rest is
// stored, without a link that breaks every clone.
func TestStore_inner(t *testing.T) {
	const ref = "refs/bossman/web-1/1"
	r, dir := newRepo(t)
	sh(t, dir, "echo ignored > .gitignore && git add . && git commit -qm ignore && git worktree add -q .claude/x && echo other > other"+
		" && mkdir sub && git init -q sub/app && echo 1 > sub/app/a && git -C sub/app add . && git -C sub/app commit -qm app && echo 2 > sub/app/b"+
		" && git init -q rails && echo 1 > rails/r && git init -q ignored && touch ignored/i")
	want := []string{".claude/x", "rails", "sub/app"}
	if got, err := r.Inner(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("Inner = %q, %v; want %q", got, err, want)
	}
	stored, err := r.Store(t.Context(), nil, git.Snapshot{}, ref, "work")
	if err != nil || !slices.Equal(stored.Inner, want) {
		t.Fatalf("Store = %+v, %v", stored, err)
	}
	if got := sh(t, dir, "git ls-tree -r --name-only "+stored.Commit); got != ".gitignore\none\nother" {
		t.Errorf("the stored commit has %q", got)
	}
	// A snapshot that was made for a check has links to them.
	sh(t, dir, "rm -r rails")
	snap, err := r.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if stored, err = r.Store(t.Context(), nil, snap, ref, "work"); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, dir, "git ls-tree -r --name-only "+stored.Commit); got != ".gitignore\none\nother" {
		t.Errorf("the stored commit of a snapshot has %q", got)
	}
	// A link that somebody has committed names a commit.
	sh(t, dir, "git add sub 2>/dev/null && git commit -qm sub")
	if stored, err = r.Store(t.Context(), nil, git.Snapshot{}, ref, "work"); err != nil || !slices.Equal(stored.Inner, []string{".claude/x", "sub/app"}) {
		t.Fatalf("Store with a link = %+v, %v", stored, err)
	}
	if got := sh(t, dir, "git rev-parse "+stored.Commit+":sub/app"); got != sh(t, dir, "git -C sub/app rev-parse HEAD") {
		t.Errorf("the link names %s", got)
	}
	if got, err := r.Hidden(t.Context()); err != nil || len(got) != 2 {
		t.Errorf("Hidden = %q, %v; want the worktree and the repository", got, err)
	}
	// The next checkout deletes none of them.
	sh(t, dir, "echo 3 > .claude/x/new && git init -q rails && echo 1 > rails/r")
	if err := r.Checkout(t.Context(), "", "main~1", false, nil); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, dir, "git status --porcelain; ls -A; cat ../repo.inner-*/sub/app/b ../repo.inner-*/.claude/x/new ../repo.inner-*/rails/r; git -C ../repo.inner-*/.claude/x status --porcelain"); got != ".git\n.gitignore\nignored\none\n2\n3\n1\n?? new" {
		t.Errorf("after the next checkout: %q", got)
	}
}

// TestCheckout_submodule: what one piece of work leaves in a submodule is not there for the next.
func TestCheckout_submodule(t *testing.T) {
	r, w, dir := withSubmodule(t)
	main := r.Branch("main")
	for _, c := range []struct{ name, do, want string }{
		{"files", "echo bad > lib/bad && echo more > lib/code && echo more > lib/deep/deep && touch lib/deep/new lib/ignored", ".git\n.gitignore\n.gitmodules\ncode\ndeep\nignored"},
		{"a commit", "cd lib && echo bad > bad && git add . && git commit -qm bad && cd .. && git commit -qam bad", ".git\n.gitignore\n.gitmodules\ncode\ndeep\nignored"},
		{"a repository inside", "git init -q lib/in && touch lib/in/x", ".git\n.gitignore\n.gitmodules\ncode\ndeep\nignored"},
		{"a commit that is not there", "git -C lib config core.bare true; rm -rf $(git -C lib rev-parse --git-dir)/objects/*", ""},
		{"no repository", "touch lib/file", ""},
	} {
		sh(t, dir, c.do)
		if err := w.Checkout(t.Context(), "bossman/web-2", main, false, nil); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := sh(t, dir, "ls -A lib"); got != c.want {
			t.Errorf("%s: lib has %q, want %q", c.name, got, c.want)
		}
		if got := sh(t, dir, "git status --porcelain --ignore-submodules=none"); got != "" {
			t.Errorf("%s: git status says %q", c.name, got)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "one")); err != nil {
		t.Error(err)
	}
}
