package git

import (
	"context"
	"strings"
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

// Status reads the state of a worktree. It takes no lock in the repository, but it runs
// the clean filters that the repository configures.
func (r *Repo) Status(ctx context.Context) (Status, error) {
	out, err := r.git(ctx, "status", "--porcelain=v2", "--branch")
	if err != nil {
		return Status{}, err
	}
	return parseStatus(out), nil
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
