//go:build unix

package mcp

import (
	"os"
	"syscall"
)

// ownStdout is a duplicate of file descriptor 1. Go ends a program that writes
// to a closed pipe on descriptor 1 by a signal, without a word; on any other
// descriptor the write returns an error.
func ownStdout() *os.File {
	fd, err := syscall.Dup(1)
	if err != nil { // there is none: writing to it will tell
		return os.Stdout
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "stdout")
}
