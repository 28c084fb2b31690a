package mcp

import "syscall"

// redirect makes one file descriptor another name for what from is.
func redirect(from, to int) error { return syscall.Dup3(from, to, 0) }

// ownGroup starts a child in a process group of its own. It is killed when the
// thread that starts it ends, and so with this process, however that ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
