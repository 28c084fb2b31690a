package git

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// setForeign sets Foreign. dot is set if there is something named .git that is not a directory.
func (r *Repo) setForeign(dot bool) {
	common := r.claimant()
	switch {
	case common != "" && !same(common, r.Common):
		r.Claimant = common
		r.Foreign = fmt.Sprintf("it is a worktree of %q, but the repository in it is %q now", common, r.Common)
	case !dot && r.Common != r.Dir:
		r.Foreign = fmt.Sprintf("its .git/commondir leads to %q", r.Common)
	case !dot:
	case !r.Bare && r.leads([]string{r.Root}):
		r.Foreign = fmt.Sprintf("its .git leads to %q in the worktree itself, where an agent could change what git runs", r.Dir)
	case r.leads(temporary(r.Root)):
		r.Foreign = fmt.Sprintf("its .git leads to %q among temporary files, where an agent could change what git runs", r.Dir)
	case r.Bare && r.beside(): // as .git -> .bare: whoever wrote the one wrote the other
	case !r.named():
		r.Foreign = fmt.Sprintf("its .git leads to %q, which does not name this directory as its worktree", r.Dir)
	}
}

// leads reports whether a git directory is one of some directories or below it, or is reached
// through one.
func (r *Repo) leads(trees []string) bool {
	return slices.ContainsFunc([]string{r.Dir, r.Common}, func(dir string) bool { return passes(filepath.Join(dir, "HEAD"), trees, nil) })
}

// temporary are the directories for temporary files that a path is not in: agents in a sandbox
// mostly may write there, too.
func temporary(path string) []string {
	return slices.DeleteFunc([]string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"}, func(dir string) bool { return sights{}.within(path, []string{dir}, nil) })
}

// claimant returns the common git directory of a repository that has the top of the worktree as one
// of its linked worktrees, whatever .git there says. It is searched for where Bossman and others put
// such worktrees: in the repository, and in REPO.worktrees beside it.
func (r *Repo) claimant() string {
	for common := range around(r.Root) {
		if r.Of(common) && r.Dir != common { // as is usual: then no other entry need be read
			if root, ok := linkedRoot(r.Dir); ok && same(root, r.Root) {
				return common
			}
		}
		if slices.ContainsFunc((&Repo{Common: common}).linked(), func(root string) bool { return same(root, r.Root) }) {
			return common
		}
	}
	return ""
}

// around yields the common git directories of the repositories that a directory is in, or is in
// REPO.worktrees of.
func around(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			repo, beside := strings.CutSuffix(dir, ".worktrees")
			if common, ok := commonAt(dir); ok && !yield(common) {
				return
			}
			if !beside {
				continue
			}
			if common, ok := commonAt(repo); ok && !yield(common) {
				return
			}
		}
	}
}

// lost returns the linked worktree that a directory is in, if there is no repository at its top any
// more: an agent may have removed its .git, to have the directory taken for something else.
func lost(dir string) *Repo {
	for common := range around(dir) {
		for own, root := range (&Repo{Common: common}).entries() {
			root, err := filepath.EvalSymlinks(root)
			if err != nil {
				continue
			}
			if rel, err := filepath.Rel(root, dir); err != nil || !filepath.IsLocal(rel) {
				continue
			}
			if _, ok := At(root); !ok {
				return &Repo{Root: root, Dir: own, Common: common, Foreign: fmt.Sprintf("it is a worktree of %q, but its .git is gone or leads to no repository", common)}
			}
		}
	}
	return nil
}

// commonAt returns the common git directory of what is in a directory: of the worktree with its top
// there, or of the bare repository.
func commonAt(top string) (string, bool) {
	dot := filepath.Join(top, ".git")
	info, err := os.Lstat(dot)
	switch {
	case err != nil:
		return top, isCommon(top)
	case !info.IsDir():
		var ok bool
		if dot, ok = pointer(dot, info); !ok {
			return "", false
		}
	}
	return common(dot)
}

// beside reports whether the git directory is a hidden directory in the top of the worktree, is
// reached without a symbolic link, and does not say whose it is. Others in the worktree may be
// repositories on their own, such as web/.bare or web.git.
func (r *Repo) beside() bool {
	root, err := filepath.EvalSymlinks(r.Root)
	if err != nil {
		return false
	}
	common, err := filepath.EvalSymlinks(r.Common)
	if err != nil {
		return false
	}
	if _, says := r.workTree(); says {
		return false
	}
	name := filepath.Base(common)
	return filepath.Dir(common) == root && strings.HasPrefix(name, ".") && name != ".git"
}

// named reports whether the git directory names the worktree: the directory of a linked
// worktree has a file gitdir, others have core.worktree in their configuration.
func (r *Repo) named() bool {
	if text, err := readSmall(filepath.Join(r.Dir, "gitdir")); err == nil {
		return filepath.Dir(filepath.Dir(r.Dir)) == r.Common && same(resolve(r.Dir, strings.TrimSpace(text)), filepath.Join(r.Root, ".git"))
	}
	if r.Common != r.Dir {
		return false
	}
	tree, ok := r.workTree()
	return ok && same(resolve(r.Dir, tree), r.Root)
}
