package proc

import (
	"bytes"
	"os"
	"path/filepath"
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
// the marker.
func survivors(group int, mark string) (pids []int) {
	for pid, fields := range processes() {
		if fields[2] == strconv.Itoa(group) || marked(pid, mark+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ofRun finds the running processes whose marker begins with a text.
func ofRun(mark string) (pids []int) {
	for pid := range processes() {
		if marked(pid, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// marked reports whether the environment of a process has a variable that begins with a text.
func marked(pid int, text string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, environ...), append([]byte{0}, text...))
}

// descendants finds the running processes below this one.
func descendants() (pids []int) {
	parents := map[int]int{}
	for pid, fields := range processes() {
		parents[pid], _ = strconv.Atoi(fields[1])
	}
	for pid := range parents {
		for up, n := parents[pid], 0; up > 1 && n < len(parents); up, n = parents[up], n+1 {
			if up == os.Getpid() {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// killChildren kills the children of this process, and the groups that they are in.
func killChildren() {
	own := syscall.Getpgrp()
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		list, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(list)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				continue
			}
			if group, err := syscall.Getpgid(pid); err == nil && group != own {
				_ = syscall.Kill(-group, syscall.SIGKILL)
			}
			killPid(pid)
		}
	}
}

// processes returns what stat says of each running process after its name: state, parent, group,
// session and more. Zombies do not run, and this process does not count.
func processes() map[int][]string {
	return list(func(state string) bool { return state != "Z" && state != "X" })
}

// list is processes for those in some states.
func list(in func(state string) bool) map[int][]string {
	list := map[int][]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name is in parentheses
		if err == nil && len(fields) > 19 && in(fields[0]) {
			list[pid] = fields
		}
	}
	return list
}

// ownSession starts a minder in a session of its own: it outlives this process, and no key of a
// terminal reaches it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// adoptAll makes this process the parent of every process below it whose parent dies.
func adoptAll() error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

const prSetChildSubreaper = 36

func dup(from, to int) error { return syscall.Dup3(from, to, 0) }
