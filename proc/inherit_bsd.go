//go:build unix && !linux

package proc

import "syscall"

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
