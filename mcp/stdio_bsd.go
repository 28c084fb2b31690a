//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package mcp

import "syscall"

// redirect makes one file descriptor another name for what from is.
func redirect(from, to int) error { return syscall.Dup2(from, to) }

// ownGroup starts a child in a process group of its own. If this process dies,
// the child's input ends.
func ownGroup(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	var a syscall.SysProcAttr
	if given != nil {
		a = *given
	}
	a.Setpgid = !a.Setsid
	return &a
}
