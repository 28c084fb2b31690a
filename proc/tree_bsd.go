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

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// adoptAll does nothing: on this system a process whose parent dies belongs to the first one.
func adoptAll() error { return nil }

// descendants finds nothing: the group is all that is known.
func descendants() []int { return nil }

// killChildren does nothing, either.
func killChildren() {}

func dup(from, to int) error { return syscall.Dup2(from, to) }

// ofRun finds nothing, because this system does not show environments in files.
func ofRun(string) []int { return nil }
