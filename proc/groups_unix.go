//go:build unix

package proc

import (
	"bufio"
	"os"
	"os/signal"
	"syscall"
)

// runGroups is the program of a minder of groups. It reads what Groups writes, and when that ends, it
// kills what is left.
func runGroups(mark string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM)
	l := &groupList{mark: mark, groups: map[int]string{}}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		l.read(lines.Text())
	}
	l.end(false)
	return nil
}

// end kills the groups, and everything that carries the mark. If it is late, the numbers may be those of
// others by now. It returns how many groups had something left.
func (l *groupList) end(late bool) int {
	left := map[int]bool{}
	endAll(func() []int {
		var pids []int
		for group, start := range l.groups {
			for _, pid := range membersOf(group, start, l.mark, late) {
				left[group] = true
				pids = append(pids, pid)
			}
		}
		if l.mark != "" {
			pids = append(pids, ofRun(Marker+"="+l.mark+"\x00")...)
		}
		return pids
	})
	return len(left)
}

// groupRuns reports whether any process of a group is left.
func groupRuns(group int) bool { return syscall.Kill(-group, 0) != syscall.ESRCH }
