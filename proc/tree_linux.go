package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ownGroup starts the child in a process group of its own. The kernel kills the child
// when the thread that started it ends, and so when this process ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// survivors finds the running processes that are in the group or whose environment has
// the marker. Zombies do not run, and this process does not count.
func survivors(group int, mark string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	want := append(append([]byte{0}, mark...), 0)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// In stat the name, in parentheses, is followed by state, parent and group.
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if err != nil || len(fields) < 3 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		if fields[2] == strconv.Itoa(group) {
			pids = append(pids, pid)
			continue
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && bytes.Contains(append([]byte{0}, environ...), want) {
			pids = append(pids, pid)
		}
	}
	return pids
}
