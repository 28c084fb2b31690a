package git

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Nothing is deleted where a symbolic link leads that is put in the place of a directory of the worktree.
func TestEmpty_link(t *testing.T) {
	r, victim := &Repo{Root: t.TempDir()}, t.TempDir()
	for _, dir := range []string{filepath.Join(victim, "lib"), filepath.Join(r.Root, "sub", "lib")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", filepath.Join(victim, "lib", "socket"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	for name, target := range map[string]string{"link": filepath.Join(victim, "lib"), "above": victim} {
		if err := os.Symlink(target, filepath.Join(r.Root, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, path := range []string{"link", "above/lib"} {
		if err := r.empty(path); err == nil {
			t.Errorf("empty(%s) is no error", path)
		}
		if err := r.dropOne(path, "socket"); err == nil {
			t.Errorf("dropOne(%s) is no error", path)
		}
	}
	if files, err := os.ReadDir(filepath.Join(victim, "lib")); err != nil || len(files) != 2 {
		t.Errorf("where the links lead are %v, %v", files, err)
	}
	if err := r.empty("sub/lib"); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(filepath.Join(r.Root, "sub", "lib")); err != nil || len(files) != 0 {
		t.Errorf("after empty there are %v, %v", files, err)
	}
}
