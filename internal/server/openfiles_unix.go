//go:build unix

package server

import "syscall"

// openFiles is how many files the process may open; zero if that is not known. Go has
// raised the limit as far as it could when the program began.
func openFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur) // signed on some systems
}
