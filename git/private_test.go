package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/git"
)

// An agent in a sandbox can write the directory for temporary files, so nothing of a snapshot is
// there: neither of one with submodules nor of one that is stored.
func TestSnapshot_private(t *testing.T) {
	r, slot, dir := withSubmodule(t)
	sh(t, slot.Root, "echo changed > lib/code; echo new > new")
	t.Setenv("TMPDIR", filepath.Join(dir, "there is no such directory"))
	s, err := slot.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	if _, err := slot.Store(t.Context(), nil, s, "refs/bossman/web-1/1", "message"); err != nil {
		t.Fatalf("Store: %v", err)
	}
	if left := sh(t, r.Common, "find . -name 'index-*'"); left != "" {
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
	if ok, _ := filepath.Match(filepath.Join(dir, ".git", "bossman", "index-*")+"\ndrwx------\n", string(text)); !ok {
		t.Errorf("the index is in\n%s", text)
	}
}

// What killed processes have left is removed after a day, and nothing else is.
func TestSnapshot_left(t *testing.T) {
	r, dir := newRepo(t)
	own := filepath.Join(dir, ".git", "bossman")
	sh(t, dir, `mkdir -p .git/bossman/index-old .git/bossman/index-new .git/bossman/slots && echo a > .git/bossman/index-old/index && echo b > outside && ln -s "$PWD" .git/bossman/index-link`)
	for _, name := range []string{"index-old", "slots"} {
		if err := os.Chtimes(filepath.Join(own, name), time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Snapshot(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(own)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"index-link", "index-new", "slots"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}

// A snapshot follows no symbolic link to the place of its index, and says where it cannot write.
func TestSnapshot_noPlace(t *testing.T) {
	for name, c := range map[string]struct{ prepare, want string }{
		"link": {`mkdir ../out && ln -s "$PWD/../out" .git/bossman`, "is a symbolic link"},
		"file": {`echo > .git/bossman`, "an index of its own in the git directory"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			sh(t, dir, c.prepare)
			if s, err := r.Snapshot(t.Context(), nil); s != (git.Snapshot{}) || !says(err, c.want) {
				t.Errorf("Snapshot = %+v, %v, want an error with %q", s, err, c.want)
			}
		})
	}
}
