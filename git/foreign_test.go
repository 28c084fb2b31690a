package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// Content cannot bring a repository of its own: what git would take for a bare repository
// in a worktree is a directory of the worktree.
func TestFind_embedded(t *testing.T) {
	r, dir := newRepo(t)
	other, _ := newRepo(t)
	sh(t, dir, "git init -q --bare docs/x.git && mkdir docs/x.git/sub && git init -q --bare y.git && echo "+other.Common+" > y.git/commondir")
	for _, from := range []string{"docs/x.git", "docs/x.git/sub", "y.git", ".git", ".git/refs"} {
		if got := find(t, filepath.Join(dir, from)); got.Root != dir || got.Common != r.Common || got.Bare {
			t.Errorf("Find(%s) = %+v, want the worktree around it", from, got)
		}
	}
	outside := t.TempDir()
	sh(t, outside, "git init -q --bare z.git && echo "+other.Common+" > z.git/commondir")
	if got, err := git.Find(filepath.Join(outside, "z.git")); err == nil {
		t.Errorf("Find(a bare repository with a commondir) = %+v, want none", got)
	}
}

// A worktree and its git directory name each other, or the repository is foreign.
func TestAt_foreign(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `git worktree add -q ../linked && cd .. && git init -q lib && cd lib && git commit -q --allow-empty -m one && cd - &&
		git -c protocol.file.allow=always -C `+dir+` submodule --quiet add "$PWD/lib" lib`)
	base := filepath.Dir(dir)
	sh(t, base, `
		mkdir symlink pointer commondir separate named
		ln -s `+r.Common+` symlink/.git
		echo gitdir: `+r.Common+` > pointer/.git
		cd commondir && git init -q . && echo `+r.Common+` > .git/commondir && cd ..
		git init -q --separate-git-dir separate.git separate
		git init -q --separate-git-dir named.git named && git -C named config core.worktree "$PWD/named"
		cp -R linked copied
		mkdir inside && git init -q --bare inside/.bare && echo gitdir: ./.bare > inside/.git`)
	for _, c := range []struct {
		dir, foreign string
	}{
		{filepath.Base(dir), ""},
		{filepath.Base(dir) + "/lib", ""},
		{"linked", ""},
		{"named", ""},
		{"inside", ""},
		{"symlink", "does not name this directory"},
		{"pointer", "does not name this directory"},
		{"commondir", fmt.Sprintf("its .git/commondir leads to %q", r.Common)},
		{"separate", "does not name this directory"},
		{"copied", "does not name this directory"},
	} {
		got, ok := git.At(filepath.Join(base, c.dir))
		if !ok || got.Bare {
			t.Errorf("At(%s) = %+v, %v", c.dir, got, ok)
			continue
		}
		if (c.foreign == "") != (got.Foreign == "") || !strings.Contains(got.Foreign, c.foreign) {
			t.Errorf("At(%s) is foreign: %q, want %q", c.dir, got.Foreign, c.foreign)
		}
	}
	if err := os.Rename(filepath.Join(base, "linked"), filepath.Join(base, "moved")); err != nil {
		t.Fatal(err)
	}
	if got, _ := git.At(filepath.Join(base, "moved")); got == nil || got.Foreign == "" {
		t.Errorf("At(a moved worktree) = %+v, want it foreign until git worktree repair", got)
	}
	sh(t, filepath.Join(base, "moved"), "git worktree repair")
	if got, _ := git.At(filepath.Join(base, "moved")); got == nil || got.Foreign != "" {
		t.Errorf("At(a repaired worktree) = %+v", got)
	}
}
