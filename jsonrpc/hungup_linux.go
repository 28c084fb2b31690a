package jsonrpc

import (
	"syscall"
	"unsafe"
)

// hungUp reports whether everyone who could read what is written to fd has closed it.
func hungUp(fd uintptr) bool {
	const pollErr, pollHup = 0x8, 0x10
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd)}
	var now syscall.Timespec
	n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return errno == 0 && n == 1 && poll.revents&(pollErr|pollHup) != 0
}
