package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// An agent in a sandbox can write the directory for temporary files, and perhaps .git/bossman, so
// nothing of a snapshot is there: neither of one with submodules nor of one that is stored.
func TestSnapshot_private(t *testing.T) {
	r, slot, dir := withSubmodule(t)
	sh(t, slot.Root, "echo changed > lib/code; echo new > new")
	sh(t, r.Common, "rm -rf bossman; echo > bossman")
	t.Setenv("TMPDIR", filepath.Join(dir, "there is no such directory"))
	s, err := slot.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	if _, err := slot.Store(t.Context(), nil, s, "", "message"); err != nil {
		t.Fatalf("Store: %v", err)
	}
	if left := sh(t, os.Getenv("XDG_STATE_HOME"), "find . -name 'index-*'"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// The index of a snapshot is in a directory that only the user reads, and a filter sees it there.
func TestSnapshot_privateIndex(t *testing.T) {
	r, dir := newRepo(t)
	seen := filepath.Join(t.TempDir(), "seen")
	sh(t, dir, `echo '*.txt filter=look' > .gitattributes; echo text > a.txt; git config filter.look.clean 'dirname "$GIT_INDEX_FILE" > `+seen+`; ls -ld "$(dirname "$GIT_INDEX_FILE")" | cut -c1-10 >> `+seen+`; cat'`)
	if _, err := r.Snapshot(t.Context(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := filepath.Match(filepath.Join(os.Getenv("XDG_STATE_HOME"), "bossman", "git", "index-*")+"\ndrwx------\n", string(text)); !ok {
		t.Errorf("the index is in\n%s", text)
	}
}

// What killed processes have left is removed after a day, and nothing else is.
func TestSnapshot_left(t *testing.T) {
	r, _ := newRepo(t)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	all := filepath.Join(state, "bossman", "git")
	sh(t, state, `umask 077; mkdir -p bossman/git; cd bossman/git; mkdir index-old index-new other && echo a > index-old/index && ln -s "$PWD" index-link`)
	for _, name := range []string{"index-old", "other"} {
		if err := os.Chtimes(filepath.Join(all, name), time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Snapshot(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(all, "[^v]*")) // without the view
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	if want := []string{"index-link", "index-new", "other"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}
