package git

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A Status is the state of a worktree.
type Status struct {
	// Branch is empty if the head is detached.
	Branch string
	// Head is the start of the commit's hash, empty before the first commit.
	Head string
	// Uncommitted is how many files differ from the commit, untracked ones included.
	Uncommitted int
}

// headLength is how much of a commit's hash is kept.
const headLength = 12

// ReadStatus reads the state of the worktree that a directory is in. It takes no lock in
// the repository and runs no program that the repository configures.
func ReadStatus(ctx context.Context, dir string) (Status, error) {
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-C", dir, "status", "--porcelain=v2", "--branch")
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return Status{}, err
	}
	return parseStatus(string(out)), nil
}

// parseStatus reads the output of git status --porcelain=v2 --branch.
func parseStatus(out string) Status {
	var s Status
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "# branch.oid "); ok {
			if head != "(initial)" {
				s.Head = head[:min(len(head), headLength)]
			}
		} else if branch, ok := strings.CutPrefix(line, "# branch.head "); ok {
			if branch != "(detached)" {
				s.Branch = branch
			}
		} else if line != "" && !strings.HasPrefix(line, "#") {
			s.Uncommitted++
		}
	}
	return s
}
