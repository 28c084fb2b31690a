package git_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	project := t.TempDir()
	sh(t, project, "git init -q --bare a/x.git && mkdir -p a/x.git/sub/.bossman")
	if got := find(t, filepath.Join(project, "a/x.git")); !got.Bare {
		t.Errorf("Find(a bare repository on its own) = %+v", got)
	}
	sh(t, project, "mkdir .bossman")
	for _, from := range []string{"a/x.git", "a/x.git/sub"} {
		if got, err := git.Find(filepath.Join(project, from)); err == nil {
			t.Errorf("Find(%s) in a project without git = %+v, want none", from, got)
		}
	}
	t.Setenv("HOME", project)
	if got := find(t, filepath.Join(project, "a/x.git")); !got.Bare {
		t.Errorf("Find(a bare repository) in the home directory = %+v", got)
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
		mkdir inside && git init -q --bare inside/.bare && echo gitdir: ./.bare > inside/.git
		mkdir bomb && git init -q bomb/web && echo gitdir: web/.git > bomb/.git
		mkdir sub && git init -q --bare sub/web.mod && git -C sub/web.mod config core.bare false && git -C sub/web.mod config core.worktree ../elsewhere && echo gitdir: web.mod > sub/.git
		mkdir deep && git init -q --bare deep/web/.bare && echo gitdir: web/.bare > deep/.git
		mkdir alone && git init -q --bare alone/web.git && echo gitdir: web.git > alone/.git
		mkdir through && ln -s ../inside through/lnk && echo gitdir: lnk/.bare > through/.git
		mkdir own && git init -q --bare own/.git`)
	for _, c := range []struct {
		dir, foreign string
	}{
		{filepath.Base(dir), ""},
		{filepath.Base(dir) + "/lib", ""},
		{"linked", ""},
		{"named", ""},
		{"inside", ""},
		{"own", ""},
		{"sub", "in the worktree itself"},
		{"bomb", "in the worktree itself"},
		{"deep", "does not name this directory"},
		{"alone", "does not name this directory"},
		{"through", "does not name this directory"},
		{"symlink", "does not name this directory"},
		{"pointer", "does not name this directory"},
		{"commondir", fmt.Sprintf("its .git/commondir leads to %q", r.Common)},
		{"separate", "does not name this directory"},
		{"copied", "does not name this directory"},
	} {
		got, ok := git.At(filepath.Join(base, c.dir))
		if !ok || got.Bare != slices.Contains([]string{"inside", "own", "through", "deep", "alone"}, c.dir) {
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

// An agent that writes nothing but its worktree and temporary files cannot make another repository
// that of its worktree.
func TestAt_replaced(t *testing.T) {
	_, dir := newRepo(t)
	base := filepath.Dir(dir)
	t.Setenv("TMPDIR", filepath.Join(base, "tmp"))
	sh(t, base, "mkdir tmp && git init -q lib && git -C lib commit -q --allow-empty -m one && git clone -q --bare repo bare.git && git clone -q --bare repo web/.bare && echo gitdir: .bare > web/.git")
	sh(t, dir, `git -c protocol.file.allow=always submodule --quiet add "$PWD/../lib" lib && git commit -qm lib`)
	const (
		inside    = "in the worktree itself"
		temporary = "among temporary files"
		claimed   = "but the repository in it is"
	)
	for _, c := range []struct {
		name, at, replace, foreign string
	}{
		{"nothing", "tree", "", ""},
		{"in REPO.worktrees", "repo.worktrees/one", "", ""},
		{"in the repository", "repo/.trees/one", "", ""},
		{"of a bare repository", "bare.git.worktrees/one", "", ""},
		{"of a hidden one", "web/one", "", ""},
		{"its submodule", "tree", "git -c protocol.file.allow=always submodule --quiet update --init; cd lib", ""},
		{"all among temporary files", "tmp/tree", "cp -R ../../repo/.git ../evil; cp .git ../old; git -C ../evil config core.worktree $PWD; echo gitdir: ../evil > .git", ""},
		{"hidden", "tree", "cp -R ../repo/.git .evil; echo gitdir: .evil > .git", inside},
		{"hidden that names it", "tree", "cp -R ../repo/.git .evil; git -C .evil config core.worktree $PWD; echo gitdir: .evil > .git", inside},
		{"inside with its worktree", "tree", "cp -R ../repo/.git .evil; echo gitdir: $PWD/.evil/worktrees/tree > .git", inside},
		{"through a link", "tree", "cp -R ../repo/.git ../tmp/evil; ln -s ../tmp/evil .evil; git -C ../tmp/evil config core.worktree $PWD; echo gitdir: .evil > .git", inside},
		{"link", "tree", "cp -R ../repo/.git ../tmp/evil; git -C ../tmp/evil config core.worktree $PWD; rm .git; ln -s ../tmp/evil .git", temporary},
		{"temporary", "tree", "cp -R ../repo/.git ../tmp/evil; git -C ../tmp/evil config core.worktree $PWD; echo gitdir: ../tmp/evil > .git", temporary},
		{"temporary with its worktree", "tree", "cp -R ../repo/.git ../tmp/evil; echo gitdir: ../tmp/evil/worktrees/tree > .git", temporary},
		{"all temporary files", "tree", "cp -R ../repo/.git/* ../tmp; git -C ../tmp config core.worktree $PWD; echo gitdir: ../tmp > .git", temporary},
		{"clone", "repo.worktrees/one", "rm .git; cp -R ../../repo/.git .git", claimed},
		{"clone in the repository", "repo/.trees/one", "rm .git; cp -R ../../../lib/.git .git", claimed},
		{"clone of a bare repository", "bare.git.worktrees/one", "rm .git; git init -q", claimed},
		{"clone beside a hidden one", "web/one", "rm .git; git init -q", claimed},
		{"bare one that is hidden", "repo.worktrees/one", "git init -q --bare .evil; echo gitdir: .evil > .git", claimed},
		{"bare one in its place", "repo.worktrees/one", "rm .git; cp -R ../../bare.git/* .", claimed},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := map[string]string{"bare.git.worktrees/one": "bare.git", "web/one": "web"}[c.at]
			sh(t, filepath.Join(base, cmp.Or(repo, "repo")), "git worktree add -q --detach "+filepath.Join(base, c.at))
			t.Cleanup(func() {
				sh(t, base, "rm -rf tmp/* repo/.trees bare.git.worktrees repo.worktrees web/one tree; for r in repo bare.git web; do git -C $r worktree prune; done")
			})
			root := sh(t, filepath.Join(base, c.at), c.replace+"\npwd")
			got, ok := git.At(root)
			if !ok || (c.foreign == "") != (got.Foreign == "") || !strings.Contains(got.Foreign, c.foreign) {
				t.Errorf("At = %+v, %v; want it foreign because %q", got, ok, c.foreign)
			}
		})
	}
}
