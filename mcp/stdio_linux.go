package mcp

import (
	"cmp"
	"syscall"
)

// redirect makes one file descriptor another name for what from is.
func redirect(from, to int) error { return syscall.Dup3(from, to, 0) }

// ownGroup starts a child in a process group of its own. It is killed when the
// thread that starts it ends, and so with this process, however that ends.
func ownGroup(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	var a syscall.SysProcAttr
	if given != nil {
		a = *given
	}
	a.Setpgid = !a.Setsid
	a.Pdeathsig = cmp.Or(a.Pdeathsig, syscall.SIGKILL)
	return &a
}
