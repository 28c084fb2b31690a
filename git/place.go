package git

import (
	"fmt"
	"os"
	"path/filepath"
)

// there returns an error if the directory of a linked worktree is not the one any more that Linked
// found, or if something is mounted below it: what is there is not of the worktree, and must be
// neither stored nor cleaned. A directory that is gone is no error; git says so.
func (r *Repo) there() error {
	if r.own == nil {
		return nil
	}
	info, err := os.Lstat(r.Root)
	if err != nil {
		return nil
	}
	if !os.SameFile(info, r.own) {
		return fmt.Errorf("something else was put in the place of the worktree %q, and is left alone", r.Root)
	}
	root, err := filepath.EvalSymlinks(r.Root)
	if err != nil {
		return err
	}
	if at := mountBelow(root); at != "" {
		return fmt.Errorf("another file system or directory is mounted at %q in the worktree, and is left alone: unmount it", at)
	}
	return nil
}
