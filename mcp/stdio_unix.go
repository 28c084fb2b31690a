//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package mcp

import (
	"os"
	"syscall"
)

// ownStdout takes standard output away from everything else: it is a duplicate
// of file descriptor 1, which then becomes another name for standard error. On
// descriptor 1 Go would also end the program by a signal, without a word, when
// nobody reads any more; on any other the write returns an error.
func ownStdout() *os.File {
	fd, err := syscall.Dup(1)
	if err != nil { // there is none: writing to it will tell
		return os.Stdout
	}
	syscall.CloseOnExec(fd)
	_ = redirect(2, 1) // without standard error, os.Stdout must do
	return os.NewFile(uintptr(fd), "stdout")
}

// tell asks a process and its group to end.
func tell(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// kill ends a process and its group.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// groupLives reports whether anything is left of a process's group.
func groupLives(p *os.Process) bool { return syscall.Kill(-p.Pid, 0) != syscall.ESRCH }
