package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Worktrees lists the repository's worktrees that are there, as they see it themselves.
// It reads files only.
func (r *Repo) Worktrees() []*Repo {
	var list []*Repo
	for _, root := range append([]string{filepath.Dir(r.Common)}, r.linked()...) { // the main worktree, unless the repository is bare
		if w, ok := At(root); ok && !w.Bare && w.Common == r.Common {
			list = append(list, w)
		}
	}
	return list
}

// linked lists the directories that the repository has as linked worktrees, whether they are
// there or not.
func (r *Repo) linked() (roots []string) {
	pointers, _ := filepath.Glob(filepath.Join(globQuote(r.Common), "worktrees", "*", "gitdir"))
	for _, p := range pointers {
		if text, err := readSmall(p); err == nil {
			dot := strings.TrimSpace(text)
			if !filepath.IsAbs(dot) {
				dot = filepath.Join(filepath.Dir(p), dot)
			}
			roots = append(roots, filepath.Dir(dot))
		}
	}
	return roots
}

// Stale reports whether the repository has a linked worktree whose directory has gone. Its
// branch cannot be checked out until git worktree prune has forgotten it.
func (r *Repo) Stale() bool {
	return slices.ContainsFunc(r.linked(), func(root string) bool {
		_, err := os.Lstat(root)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// CanAdd reports whether git can make a worktree in a directory: it is empty or not there, and
// not known as a worktree that has gone.
func (r *Repo) CanAdd(dir string) bool {
	if slices.Contains(r.linked(), dir) {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err == nil {
		return len(entries) == 0
	}
	_, dangling := os.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist) && dangling != nil
}

// Worktree returns the worktree that has a branch checked out, nil if there is none. Of
// several it prefers the one in dir.
func (r *Repo) Worktree(branch, dir string) *Repo {
	on := slices.DeleteFunc(r.Worktrees(), func(w *Repo) bool {
		head, err := w.Head()
		return err != nil || head.Branch != branch
	})
	if len(on) == 0 {
		return nil
	}
	return on[max(0, slices.IndexFunc(on, func(w *Repo) bool { return w.Root == dir }))]
}
