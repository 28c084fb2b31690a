package gatewaycli

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The directory of a process is its own, and removed with it, or by the next process if it was killed.
func TestScratch(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run [1]")
	one, two := &scratch{root: root}, &scratch{root: root}
	two.clear() // there is nothing yet
	dir, err := one.path()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := one.path(); err != nil || again != dir {
		t.Errorf("the second time it is %s, %v", again, err)
	}
	other, err := two.path()
	if err != nil || other == dir {
		t.Errorf("that of another process is %s, %v", other, err)
	}
	for _, d := range []string{root, dir, other} {
		if info, err := os.Lstat(d); err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", d, info, err)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("locks say nothing there")
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	(&scratch{root: root}).clear()
	if _, err := os.Lstat(dir); err != nil {
		t.Errorf("a process that runs lost its directory: %v", err)
	}
	one.unlock() // it is killed
	(&scratch{root: root}).clear()
	two.remove()
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := os.Lstat(outside); err != nil {
		t.Error(err)
	}
}
