//go:build unix && !linux

package proc

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// startTimeOf returns when a process was started, or "" if there is no such process.
func startTimeOf(pid int) string {
	out, err := exec.Command("/bin/ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), "_")
}

// membersOf returns a group, as a negative process id, if its leader was started at a time. If the leader
// has ended, the group is ours as long as nobody else can have its number: not if it is late.
func membersOf(group int, start, _ string, late bool) []int {
	now := startTimeOf(group)
	if now != "" && now != start || now == "" && late || syscall.Kill(-group, 0) != nil {
		return nil
	}
	return []int{-group}
}
