//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package jsonrpc

import "syscall"

// hungUp reports whether everyone who could read what is written to fd has closed it.
func hungUp(fd uintptr) bool {
	queue, err := syscall.Kqueue()
	if err != nil {
		return false
	}
	defer syscall.Close(queue)
	var add [1]syscall.Kevent_t
	var events [1]syscall.Kevent_t
	syscall.SetKevent(&add[0], int(fd), syscall.EVFILT_WRITE, syscall.EV_ADD)
	n, err := syscall.Kevent(queue, add[:], events[:], &syscall.Timespec{})
	return err == nil && n == 1 && events[0].Flags&syscall.EV_EOF != 0
}
