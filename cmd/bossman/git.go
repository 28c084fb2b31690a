package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// gitTime is how long git may take: knowing the branch is not worth more.
const gitTime = 2 * time.Second

// whereIs tells the place of the work. Without git it is the host and the directory.
func whereIs(ctx context.Context, dir string) board.Where {
	host, _ := os.Hostname()
	w := board.Where{Host: host, Dir: dir}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	// A file watcher that the repository configures is not started for us.
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-C", dir, "status", "--porcelain=v2", "--branch")
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return w
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "# branch.oid "); ok {
			if head != "(initial)" {
				w.Head = head[:min(len(head), 12)]
			}
		} else if branch, ok := strings.CutPrefix(line, "# branch.head "); ok {
			if branch != "(detached)" {
				w.Branch = branch
			}
		} else if line != "" && !strings.HasPrefix(line, "#") {
			w.Uncommitted++
		}
	}
	return w
}
