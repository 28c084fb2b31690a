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
	if left := sh(t, r.Common, "find . -name '*-index-*'"); left != "" {
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
	if ok, _ := filepath.Match(filepath.Join(dir, ".git", "bossman-index-*")+"\ndrwx------\n", string(text)); !ok {
		t.Errorf("the index is in\n%s", text)
	}
}

// What killed processes have left is removed after a day, and nothing else is.
func TestSnapshot_left(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `cd .git; mkdir bossman-index-old bossman-index-new bossman && echo a > bossman-index-old/index && ln -s "$PWD" bossman-index-link`)
	for _, name := range []string{"bossman-index-old", "bossman"} {
		if err := os.Chtimes(filepath.Join(r.Common, name), time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Snapshot(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(r.Common, "bossman*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	if want := []string{"bossman", "bossman-index-link", "bossman-index-new"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}
