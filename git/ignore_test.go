package git_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// TestCheckout_ignores: patterns that are not in the commit leave nothing in the worktree, nor out of
// the next snapshot. Those in directories that the commit leaves out stay.
func TestCheckout_ignores(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "printf 'deps/\\n.*\\n!.gitignore\\n*.o\\n' > .gitignore && git add . && git commit -qm ignore")
	slot := filepath.Join(filepath.Dir(dir), "slot")
	w, err := r.AddWorktree(t.Context(), slot, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, slot, "mkdir -p deps/a cache src/b objects deep/er/est && echo '.*' > deep/er/.gitignore && echo '*' > deep/er/est/.gitignore && touch objects/a.o deep/er/est/z && echo '*' > deps/a/.gitignore && echo '*' > cache/.gitignore && touch deps/a/x cache/x"+
		" && printf 'out\\n' > src/.gitignore && echo '*' > src/b/.gitignore && touch src/out src/b/y")
	if err := w.Checkout(t.Context(), "", "main", false, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := sh(t, slot, "find . -type f | grep -v '^./.git$' | sort"), "./.gitignore\n./deps/a/.gitignore\n./deps/a/x\n./objects/a.o\n./one"; got != want {
		t.Errorf("after the next checkout there is\n%s\nwant\n%s", got, want)
	}
}

// TestCheckout_ignoredRepository: a repository in a directory with patterns that are not in the commit
// is moved beside the worktree, as it is.
func TestCheckout_ignoredRepository(t *testing.T) {
	r, dir := newRepo(t)
	slot := filepath.Join(filepath.Dir(dir), "slot")
	w, err := r.AddWorktree(t.Context(), slot, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, slot, "mkdir -p gen/app && echo '*' > gen/.gitignore && cd gen/app && git init -q && echo out > .gitignore && touch a && git add . && git commit -qm app && touch b")
	if err := w.Checkout(t.Context(), "", "main", false, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := sh(t, filepath.Dir(dir), "ls slot; cd slot.inner-*/gen/app && git log --format=%s && git status --short"), "one\napp\n?? b"; got != want {
		t.Errorf("after the next checkout there is\n%s\nwant\n%s", got, want)
	}
}

// TestInner_embedded: a repository that somebody makes in a directory with files of this one is
// found, its files are stored, and it is not there for the next piece of work.
func TestInner_embedded(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "mkdir -p lib/deep && touch lib/l lib/deep/d && git add . && git commit -qm lib")
	slot := filepath.Join(filepath.Dir(dir), "slot")
	w, err := r.AddWorktree(t.Context(), slot, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, slot, "cd lib && git init -q && git add . && git commit -qm inner && touch new && cd deep && git init -q")
	if got, err := w.Inner(t.Context()); err != nil || !slices.Equal(got, []string{"lib"}) {
		t.Errorf("Inner = %q, %v; want lib", got, err)
	}
	stored, err := w.Store(t.Context(), nil, git.Snapshot{}, "refs/bossman/web-1/1", "work\n\nBossman-Claim: web-1/1.k7f2q\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, dir, "git ls-tree -r --name-only "+stored.Commit); got != "lib/deep/d\nlib/l\nlib/new\none" {
		t.Errorf("stored:\n%s", got)
	}
	if claim, err := r.Trailer(t.Context(), stored.Commit, "Bossman-Claim"); err != nil || claim != "web-1/1.k7f2q" {
		t.Errorf("Trailer = %q, %v", claim, err)
	}
	if hidden, err := w.Hidden(t.Context()); err != nil || !strings.Contains(strings.Join(hidden, "; "), `no commit here has their history: "lib"`) {
		t.Errorf("Hidden = %q, %v", hidden, err)
	}
	if err := w.Checkout(t.Context(), "", "main", false, nil); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, slot, "find . -name .git; git status --porcelain; git -C ../slot.inner-*/lib log --format=%s"); got != "./.git\ninner" {
		t.Errorf("after the next checkout: %s", got)
	}
}

// TestCheckout_inner: a repository inside of one that is moved away moves with it.
func TestCheckout_inner(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "mkdir lib && touch lib/l && git add . && git commit -qm lib")
	slot := filepath.Join(filepath.Dir(dir), "slot")
	w, err := r.AddWorktree(t.Context(), slot, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, slot, "cd lib && git init -q && mkdir vendor && cd vendor && git init -q && git commit -q --allow-empty -m vendor")
	if err := w.Checkout(t.Context(), "", "main", false, nil); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, slot, "find . -name .git; git status --porcelain; git -C ../slot.inner-*/lib/vendor log --format=%s"); got != "./.git\nvendor" {
		t.Errorf("after the next checkout: %s", got)
	}
}
