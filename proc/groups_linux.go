package proc

import (
	"os"
	"strconv"
	"strings"
)

// startTimeOf returns when a process was started, in ticks since a boot that it names, or "" if there is no such process.
func startTimeOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return fields[19] + "." + strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", "")
}

// membersOf finds the processes of a group whose leader was started at a time. If the leader has ended,
// and it is late, only those count that carry the mark: the number may be that of another group by now.
func membersOf(group int, start, mark string, late bool) (pids []int) {
	now := startTimeOf(group)
	if now != "" && now != start {
		return nil
	}
	for pid, fields := range processes() {
		if fields[2] == strconv.Itoa(group) && (now != "" || !late || marked(pid, Marker+"="+mark+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
