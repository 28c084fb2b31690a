package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Version returns what the git in the PATH says of its version, such as 2.39.5. The error is ErrNoGit, or an *OldError
// if that is too old. landing is the error for landing work, which needs a newer one.
func Version() (v string, landing, err error) {
	have, err := (*Repo)(nil).version()
	if err != nil {
		return "", nil, err
	}
	switch {
	case !have.has(32):
		err = &OldError{Version: string(have)}
	case !have.has(38):
		landing = &OldError{Version: string(have), Needs: "2.38"}
	}
	return string(have), landing, err
}

// An Orphan is half a worktree.
type Orphan struct {
	// Root is the directory of the worktree.
	Root string
	// Gone is set if the directory is gone and the repository still has the worktree. Otherwise the directory is there,
	// and the repository does not have it.
	Gone bool
}

// Orphans lists the linked worktrees whose directories are gone, except locked ones, and the directories beside the
// repository, in REPO.worktrees, whose repository does not have them. It reads files only.
func (r *Repo) Orphans() (list []Orphan) {
	for dir, root := range r.entries() {
		_, unlocked := os.Lstat(filepath.Join(dir, "locked"))
		if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) && unlocked != nil {
			list = append(list, Orphan{Root: root, Gone: true})
		}
	}
	beside := filepath.Dir(r.Room())
	entries, err := os.ReadDir(beside)
	if err != nil {
		return list
	}
	for _, e := range entries {
		root := filepath.Join(beside, e.Name())
		if IsOrphan(root) {
			list = append(list, Orphan{Root: root})
		}
	}
	return list
}

// IsOrphan reports whether a directory is a linked worktree that its repository does not have, as after that was deleted.
func IsOrphan(root string) bool {
	text, err := readSmall(filepath.Join(root, ".git"))
	if err != nil { // a clone, or no worktree at all
		return false
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
	if !ok {
		return false
	}
	_, err = os.Lstat(resolve(root, dir))
	return errors.Is(err, fs.ErrNotExist)
}
