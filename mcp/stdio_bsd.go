//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package mcp

import "syscall"

// redirect makes one file descriptor another name for what from is.
func redirect(from, to int) error { return syscall.Dup2(from, to) }

// inheritable returns the highest descriptor below 1024 that is open: a child might
// inherit it. Those above are only looked for on Linux.
func inheritable() int {
	highest := 2
	for fd := range 1024 {
		var st syscall.Stat_t
		if fd > highest && syscall.Fstat(fd, &st) == nil {
			highest = fd
		}
	}
	return highest
}

// ownGroup starts a child in a process group of its own. If this process dies,
// the child's input ends.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
