package git

import (
	"os"
	"path/filepath"
)

// UnderWay names what has been begun in a worktree and not ended, such as "a rebase", empty if
// there is nothing. What is checked out meanwhile is not what the branch will be. It reads files
// only.
func (r *Repo) UnderWay() string {
	for _, step := range []struct{ file, name string }{
		{"rebase-merge", "a rebase"},
		{"rebase-apply/applying", "a git am"},
		{"rebase-apply", "a rebase"},
		{"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"},
		{"REVERT_HEAD", "a revert"},
		{"BISECT_LOG", "a bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(r.Dir, filepath.FromSlash(step.file))); err == nil {
			return step.name
		}
	}
	return ""
}
