package git

import (
	"fmt"
	"os"

	"github.com/bossman-dev/bossman/internal/visible"
)

// OwnDir makes a directory for this user alone, if it is not there. It is an error if it is
// another user's, or others may write it: they could put anything in the place of a worktree.
func OwnDir(dir string) error {
	if err := MakeDir(dir); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case ofOthers(info):
		return fmt.Errorf("%q belongs to another user: agents do not work there; move it elsewhere, or use a repository in a directory of your own", dir)
	case info.Mode().Perm()&0o022 != 0 && keepsModes(dir):
		return fmt.Errorf("others may write %q: agents do not work there; if nobody else has changed it, run: chmod go-w %s", dir, visible.ShellWord(dir))
	}
	return nil
}

// keepsModes reports whether the file system of a directory keeps who may write. Some show all files
// as everybody's.
func keepsModes(dir string) bool {
	probe, err := os.MkdirTemp(dir, ".bossman-")
	if err != nil {
		return true
	}
	defer os.Remove(probe)
	info, err := os.Lstat(probe)
	return err != nil || info.Mode().Perm()&0o022 == 0
}
