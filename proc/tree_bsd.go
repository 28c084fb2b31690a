//go:build unix && !linux

package proc

import "syscall"

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// survivors returns the group, as a negative process id, if any process of it is left.
// This system does not show the environment of a process in files, so the marker finds
// nothing.
func survivors(group int, _ string) []int {
	if syscall.Kill(-group, 0) == nil {
		return []int{-group}
	}
	return nil
}
