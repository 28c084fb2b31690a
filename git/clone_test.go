package git_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// TestRepo_CloneID: all worktrees of a clone have one ID, which stays; another clone has
// another one.
func TestRepo_CloneID(t *testing.T) {
	repo, _ := newRepo(t)
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for n := range ids {
		wg.Go(func() { ids[n] = repo.MakeCloneID() })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || len(id) != 26 {
			t.Fatalf("CloneID() = %q for eight at once, want one of 26 letters", ids)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(repo.Common, "bossman", "*")); len(left) != 1 {
		t.Errorf("there are %q, want the file clone alone", left)
	}
	other, _ := newRepo(t)
	if id := other.MakeCloneID(); id == ids[0] || id == "" {
		t.Errorf("CloneID() of another clone = %q", id)
	}
	foreign := &git.Repo{Root: repo.Root, Dir: repo.Dir, Common: repo.Common, Foreign: "it is"}
	if id := foreign.MakeCloneID(); id != "" {
		t.Errorf("CloneID() of a foreign directory = %q, want none", id)
	}
}

// TestRepo_CloneID_hostile: what is no ID is not taken for one and not replaced, and no
// symbolic link is followed, in the repository or out of it.
func TestRepo_CloneID_hostile(t *testing.T) {
	for _, text := range []string{"", "short", "ABCDEFGHIJKLMNOPQRSTUVWX\x1b[", "ABCDEFGHIJKLMNOPQRSTUVWXYZABC"} {
		repo, _ := newRepo(t)
		path := filepath.Join(repo.Common, "bossman", "clone")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if id := repo.MakeCloneID(); id != "" {
			t.Errorf("CloneID() of %q = %q, want none", text, id)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("the file has %q now, %v", now, err)
		}
	}
	for _, out := range []string{t.TempDir(), "refs/tags"} {
		repo, _ := newRepo(t)
		if err := os.Symlink(out, filepath.Join(repo.Common, "bossman")); err != nil {
			t.Skip(err)
		}
		if id := repo.MakeCloneID(); id != "" {
			t.Errorf("CloneID() through a link to %q = %q, want none", out, id)
		}
		if entries, _ := os.ReadDir(filepath.Join(repo.Common, "bossman")); len(entries) > 0 {
			t.Errorf("something was written to %q", out)
		}
	}
}
