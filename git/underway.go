package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Held returns the worktree in which a rebase or a bisect of a branch is under way, nil if there is
// none. The branch is not checked out there, and git checks it out nowhere else.
func (r *Repo) Held(branch string) *Repo {
	if branch == "" {
		return nil
	}
	for _, w := range r.Worktrees() {
		for _, file := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
			text, err := readSmall(filepath.Join(w.Dir, filepath.FromSlash(file)))
			if err == nil && strings.TrimPrefix(strings.TrimSpace(text), "refs/heads/") == branch {
				return w
			}
		}
		text, err := readSmall(filepath.Join(w.Dir, "rebase-merge", "update-refs")) // other branches that move at its end
		if err == nil && slices.Contains(strings.Split(text, "\n"), "refs/heads/"+branch) {
			return w
		}
	}
	return nil
}
