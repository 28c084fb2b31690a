package git

import (
	"path/filepath"
	"slices"
	"strings"
)

// Worktrees lists the repository's worktrees that are there, as they see it themselves.
// It reads files only.
func (r *Repo) Worktrees() []*Repo {
	roots := []string{filepath.Dir(r.Common)} // the main worktree, unless the repository is bare
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
	var list []*Repo
	for _, root := range roots {
		if w, ok := At(root); ok && !w.Bare && w.Common == r.Common {
			list = append(list, w)
		}
	}
	return list
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
