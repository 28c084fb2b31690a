package boardtext

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// Gone reports whether bossman next has taken a claim on this machine in a directory that is not there
// any more. Its agent may have moved it, or have removed its worktree and ended.
func Gone(c board.Claim) bool {
	host, err := os.Hostname()
	if err != nil || !c.InDir() || c.Where.Dir == "" || c.Where.Host != host {
		return false
	}
	_, err = os.Lstat(c.Where.Dir)
	return errors.Is(err, fs.ErrNotExist)
}

// gone returns the first of some claims whose directory is gone.
func gone(claims []board.Claim) (board.Claim, bool) {
	n := slices.IndexFunc(claims, Gone)
	if n < 0 {
		return board.Claim{}, false
	}
	return claims[n], true
}

// WhyGone adds to the reasons why a task is not handed out that the directory of its worker is gone,
// and what helps.
func WhyGone(reasons []board.Reason, c *board.Claim) []board.Reason {
	if c == nil || !Gone(*c) {
		return reasons
	}
	return append(reasons, board.Reason{
		Code: board.WhyLease,
		Text: fmt.Sprintf("Its directory %q is gone. If its agent does not work elsewhere, free the task with: bossman task release %v", c.Where.Dir, c.Task),
	})
}
