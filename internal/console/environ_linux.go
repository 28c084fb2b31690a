package console

import (
	"fmt"
	"os"
	"strings"
)

// environ is the environment that a process of the same user began with.
func environ(pid int) ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

// wrapped returns the parent of a process that has the same pipes to a client as this one:
// it only passes them on.
func wrapped(pid int) (parent int, ok bool) {
	for _, fd := range []string{"0", "1"} {
		own, err := os.Readlink("/proc/self/fd/" + fd)
		theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd))
		if err != nil || err2 != nil || own != theirs || !strings.HasPrefix(own, "pipe:") && !strings.HasPrefix(own, "socket:") {
			return 0, false
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ") // the name may have spaces
	var state string
	n, _ := fmt.Sscan(rest, &state, &parent)
	return parent, n == 2
}
