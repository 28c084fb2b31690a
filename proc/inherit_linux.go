package proc

import (
	"os"
	"strconv"
	"syscall"
)

// inheritable returns the highest descriptor that a child would inherit: one that is
// open and not close-on-exec. Package os opens none like that, but the parent process
// may have left some, and C code may open more; what it opens while a child
// starts can be missed.
func inheritable() int {
	inherits := func(fd int) bool {
		flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		return errno == 0 && flags&syscall.FD_CLOEXEC == 0
	}
	highest := 2
	if dir, err := os.Open("/proc/self/fd"); err == nil {
		defer dir.Close()
		if names, err := dir.Readdirnames(-1); err == nil {
			for _, name := range names {
				if fd, err := strconv.Atoi(name); err == nil && fd > highest && inherits(fd) {
					highest = fd
				}
			}
			return highest
		}
	}
	for fd := range 1024 { // without /proc
		if fd > highest && inherits(fd) {
			highest = fd
		}
	}
	return highest
}
